(* Reads code with mbarriers and its certificate, one pair a line, and says of each whether the checker accepts it. README.md has the format. *)

open Mbarrier_checker
open Lines

let boolean input = match next input with 0 -> false | 1 -> true | _ -> raise Malformed

let instr input =
  match next input with
  | 0 ->
      let b = next input in
      Init (b, next input)
  | 1 -> Inval (next input)
  | 2 ->
      let b = next input in
      let t = next input in
      Load (b, t, next input)
  | 3 ->
      let b = next input in
      Expect (b, next input)
  | 4 -> Arrive (next input)
  | 5 ->
      let b = next input in
      TryWait (b, Bit (boolean input))
  | 6 -> Sync
  | 7 -> Idle (next input)
  | 8 -> Await (list next input)
  | 9 ->
      let t = next input in
      Join (t, list next input)
  | _ -> raise Malformed

let numbered read input =
  let n = next input in
  (n, read input)

let edge input =
  let target = next input in
  { target; binds = list (numbered (list next)) input }

let block input =
  let instrs = list instr input in
  { instrs; edges = list edge input }

let account input =
  if boolean input then (
    let total = next input in
    let parity = { of_reg = None; of_bit = boolean input } in
    let arrivals = next input in
    let expected, issued = pair input in
    let loaded = boolean input in
    let fresh = boolean input in
    let at_wait = boolean input in
    Some { total; parity; arrivals; debt = expected - issued; loaded; fresh; at_wait })
  else None

let node input =
  let node_block = next input in
  let accounts = list (numbered account) input in
  let claims = list (numbered (list next)) input in
  { node_block; registers = []; accounts; claims; succs = list next input }

let () =
  answer_all (fun input ->
      let code = list block input in
      let certificate = list node input in
      fun () -> check code certificate)
