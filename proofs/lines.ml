(* Lines of numbers, each of which has an answer. README.md has the formats. *)

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

let pair input =
  let first = next input in
  (first, next input)

(* Prints the answer to each line of standard input: [accepts] reads what it has, and says whether a checker accepts it. *)
let answer_all accepts =
  let answer line =
    try
      let input = ref (numbers line) in
      let accepted = accepts input in
      if !input <> [] then raise Malformed;
      if accepted () then "accepted" else "refused"
    with Malformed -> "malformed"
  in
  try
    while true do
      print_endline (answer (input_line stdin))
    done
  with End_of_file -> ()
