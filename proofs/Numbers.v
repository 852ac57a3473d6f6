(* Numbers of OCaml for those of Rocq. They are machine integers: the drivers read none so large that the checkers' sums and
   differences overflow. *)

From Coq Require Import Arith ZArith Extraction ExtrOcamlBasic.

Extract Inductive nat => "int" ["0" "Stdlib.succ"]
  "(fun zero successor n -> if n = 0 then zero () else successor (n - 1))".
Extract Inlined Constant Init.Nat.sub => "(fun n m -> Stdlib.max 0 (n - m))".
Extract Inlined Constant Nat.sub => "(fun n m -> Stdlib.max 0 (n - m))".
Extract Inlined Constant Init.Nat.min => "Stdlib.min".
Extract Inlined Constant Nat.modulo => "(mod)". (* Never by 0, where the two differ. *)
Extract Inlined Constant Nat.eqb => "Stdlib.Int.equal".
Extract Inlined Constant Nat.leb => "(<=)".
Extract Inlined Constant Nat.ltb => "(<)".

Extract Inductive positive => "int" ["(fun p -> (2 * p) + 1)" "(fun p -> 2 * p)" "1"]
  "(fun odd even one p -> if p = 1 then one () else if p mod 2 = 0 then even (p / 2) else odd (p / 2))".
Extract Inductive Z => "int" ["0" "" "(~-)"]
  "(fun zero positive negative z -> if z = 0 then zero () else if z > 0 then positive z else negative (-z))".
Extract Inlined Constant Z.of_nat => "(fun n -> n)".
Extract Inlined Constant Z.add => "(+)".
Extract Inlined Constant Z.sub => "(-)".
Extract Inlined Constant Z.eqb => "Stdlib.Int.equal".
Extract Inlined Constant Z.ltb => "(<)".
