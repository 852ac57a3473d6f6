(* The checker for mbarriers in OCaml. *)

From Coq Require Import Extraction.
From AsyncOpt Require Import Numbers MbarrierChecker.

Extraction "mbarrier_checker.ml" check.
