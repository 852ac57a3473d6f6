(* Reads pairs of code and certificate, one a line, and says of each whether the checker accepts it. README.md has the format. *)

open Checker

exception Malformed

(* A number has at most 32 bits, so that nothing overflows in the checker. *)
let number word =
  let digit n c =
    match c with
    | '0' .. '9' ->
        let n = (10 * n) + Char.code c - Char.code '0' in
        if n > 0xffff_ffff then raise Malformed else n
    | _ -> raise Malformed
  in
  String.fold_left digit 0 word

let numbers line =
  String.map (function '\t' | '\r' -> ' ' | c -> c) line
  |> String.split_on_char ' '
  |> List.filter (fun word -> word <> "")
  |> List.rev_map number |> List.rev (* List.map would overflow the stack. *)

let next input =
  match !input with
  | [] -> raise Malformed
  | n :: rest ->
      input := rest;
      n

let list read input =
  let rec go n items = if n = 0 then List.rev items else go (n - 1) (read input :: items) in
  let length = next input in
  go length []

let option input = match next input with 0 -> None | n -> Some (n - 1)

let instr input =
  match next input with
  | 0 ->
      let f = next input in
      Issue (f, next input)
  | 1 -> Commit (next input)
  | 2 ->
      let f = next input in
      Wait (f, next input)
  | 3 -> Await (list next input)
  | 4 ->
      let t = next input in
      Join (t, list next input)
  | _ -> raise Malformed

let kind input =
  let k = next input in
  match (k, next input) with
  | 0, 0 -> Plain
  | 1, l -> Enter l
  | 2, l -> Back l
  | 3, l -> Exit l
  | _ -> raise Malformed

let edge input =
  let edge_kind = kind input in
  let target = option input in
  { edge_kind; target; args = list next input }

let block input =
  let params = list next input in
  let instrs = list instr input in
  { params; instrs; edges = list edge input }

let code input =
  let trips = list next input in
  { trips; blocks = list block input }

let pair input =
  let first = next input in
  (first, next input)

let entry input =
  let l = next input in
  (l, pair input)

let claim input =
  let t = next input in
  (t, list pair input)

let node input =
  let node_block = next input in
  let context = list entry input in
  let claims = list claim input in
  { node_block; context; claims; succs = list option input }

let answer line =
  try
    let input = ref (numbers line) in
    let code = code input in
    let certificate = list node input in
    if !input <> [] then raise Malformed;
    if check code certificate then "accepted" else "refused"
  with Malformed -> "malformed"

let () =
  try
    while true do
      print_endline (answer (input_line stdin))
    done
  with End_of_file -> ()
