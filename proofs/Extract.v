(* The checker in OCaml. Numbers are machine integers there: the driver reads none so large that the checker's sums and
   differences overflow. *)

From Coq Require Import Arith Extraction ExtrOcamlBasic.
From AsyncOpt Require Import Checker.

Extract Inductive nat => "int" ["0" "Stdlib.succ"]
  "(fun zero successor n -> if n = 0 then zero () else successor (n - 1))".
Extract Inlined Constant Init.Nat.sub => "(fun n m -> Stdlib.max 0 (n - m))".
Extract Inlined Constant Nat.sub => "(fun n m -> Stdlib.max 0 (n - m))".
Extract Inlined Constant Init.Nat.min => "Stdlib.min".
Extract Inlined Constant Nat.modulo => "(mod)". (* Never by 0, where the two differ. *)
Extract Inlined Constant Nat.eqb => "Stdlib.Int.equal".
Extract Inlined Constant Nat.leb => "(<=)".
Extract Inlined Constant Nat.ltb => "(<)".

Extraction "checker.ml" check.
