(* Reads pairs of code and certificate, one a line, and says of each whether the checker accepts it. README.md has the format. *)

open Checker
open Lines

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

let () =
  answer_all (fun input ->
      let code = code input in
      let certificate = list node input in
      fun () -> check code certificate)
