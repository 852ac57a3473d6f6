# The loops of a kernel that have four multiplications of a warpgroup, of 64x256, in each iteration, from what nvdisasm prints, and those
# that load two boxes and don't multiply: a line for each. What ptxas puts before a copy to work around the hardware (@!PT) is no
# instruction of the kernel. An arrival that says how many bytes to expect is an expectation.

function strip(instruction) { sub(/^@!?U?P[0-9T]+ +/, "", instruction); return instruction }

# The number of the first register of an instruction.
function destination(instruction) {
  if (!match(instruction, / R[0-9]+/)) return -1
  return substr(instruction, RSTART + 2, RLENGTH - 2) + 0
}

/^\.L_x_[0-9]+:/ { label = $1; sub(/:.*/, "", label); start[label] = count }

/\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]\*\/ .*;/ {
  text = $0
  sub(/^[^*]*\*[0-9a-f]+\*\/ +/, "", text)
  sub(/ *;.*/, "", text)
  code[count++] = text
  if (text !~ /BRA/ || !match(text, /\.L_x_[0-9]+/)) next
  target = substr(text, RSTART, RLENGTH)
  if (!(target in start)) next
  instructions = multiplications = waits = barriers = moves = tries = arrivals = expectations = loads = 0
  accumulator = -1
  for (i = start[target]; i < count; i++)
    if (code[i] ~ /HGMMA\.64x256x16/) accumulator = destination(code[i])
  for (i = start[target]; i < count; i++) {
    if (code[i] ~ /^@!PT/) continue
    instructions++
    op = strip(code[i])
    multiplications += op ~ /^HGMMA/
    if (op ~ /^WARPGROUP\.DEPBAR/) { waits++; left = op; sub(/.*gsb0, 0x/, "", left) }
    barriers += op ~ /^BAR\./
    tries += op ~ /^SYNCS.*TRYWAIT/
    arrivals += op ~ /^SYNCS\.ARRIVE.*\.A1T0/
    expectations += op ~ /^SYNCS\.ARRIVE/ && op !~ /\.A1T0/
    loads += op ~ /^UTMALDG/
    to = destination(op)
    moves += op !~ /^HGMMA/ && to >= accumulator && to < accumulator + 128
  }
  if (multiplications == 4 && waits == 1)
    print "loop: " instructions " instructions, a wait that leaves " left ", " barriers " BAR, " moves " writes of accumulators, " \
      tries " TRYWAIT, " arrivals " arrivals"
  # What waits for long does so elsewhere, and comes back in any case.
  else if (multiplications == 0 && loads == 2 && text ~ /^@/)
    print "loads: " instructions " instructions, " tries " TRYWAIT, " expectations " expectations, " arrivals " arrivals, " barriers " BAR"
}
