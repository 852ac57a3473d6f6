# What the loops of a kernel that multiply matrices consist of, from what nvdisasm prints: a line for each. Those that ptxas puts
# before a copy to work around the hardware (@!PT) are no instructions of the kernel.

function strip(instruction) { sub(/^@!?U?P[0-9T]+ +/, "", instruction); return instruction }

/^\.L_x_[0-9]+:/ { label = $1; sub(/:.*/, "", label); start[label] = count }

/\/\*[0-9a-f][0-9a-f][0-9a-f][0-9a-f]\*\/ .*;/ {
  text = $0
  sub(/^[^*]*\*[0-9a-f]+\*\/ +/, "", text)
  sub(/ *;.*/, "", text)
  code[count++] = text
  if (text !~ /BRA/ || !match(text, /\.L_x_[0-9]+/)) next
  target = substr(text, RSTART, RLENGTH)
  if (!(target in start)) next
  instructions = hmma = waits = barriers = divisions = 0
  for (i = start[target]; i < count; i++) {
    if (code[i] ~ /^@!PT/) continue
    instructions++
    op = strip(code[i])
    hmma += op ~ /^HMMA/
    waits += op ~ /^DEPBAR\.LE/
    barriers += op ~ /^BAR\./
    divisions += op ~ /^(MUFU|CALL)/
  }
  if (hmma) print "loop: " instructions " instructions, " hmma " HMMA, " waits " DEPBAR, " barriers " BAR, " divisions " divisions"
}
