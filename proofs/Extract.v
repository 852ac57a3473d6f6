(* The checker in OCaml. *)

From Coq Require Import Extraction.
From AsyncOpt Require Import Numbers Checker.

Extraction "checker.ml" check.
