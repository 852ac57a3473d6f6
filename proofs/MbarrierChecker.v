(* Certificates of code with mbarriers, and their checker. *)

From Coq Require Import List Arith ZArith Bool.
From AsyncOpt Require Import Machine Checker.
From AsyncOpt Require Import Mbarrier.
Import ListNotations.

(* The phase that the thread has to do with. When its last arrival is done and its debt is paid, it may be complete. *)
Record account := Account {
  parity : bool;
  arrivals : nat; (* pending *)
  debt : Z }. (* bytes expected, less those of the loads issued *)

Record node := Node {
  node_block : nat;
  accounts : list (barrier * account); (* the barriers of which something is known *)
  claims : list (token * list barrier); (* the loads of a token have landed or complete on one of these *)
  succs : list nat }. (* by target of the block *)

Definition certificate := list node.

Definition knowledge := (list (barrier * account) * list (token * list barrier))%type.

Fixpoint join (cl : list (token * list barrier)) (ts : list token) : option (list barrier) :=
  match ts with
  | [] => Some []
  | t :: ts =>
      match lookup t cl, join cl ts with
      | Some bs, Some bs' => Some (bs ++ bs')
      | _, _ => None
      end
  end.

(* All loads of b have landed. *)
Definition drop (b : barrier) (cl : list (token * list barrier)) : list (token * list barrier) :=
  map (fun c => (fst c, filter (fun b' => negb (b' =? b)) (snd c))) cl.

Definition landed (cl : list (token * list barrier)) (t : token) : bool :=
  match lookup t cl with Some [] => true | _ => false end.

Definition run_knowledge (p : code) (i : instr) (k : knowledge) : option knowledge :=
  let (acs, cl) := k in
  match i with
  | Load b t n =>
      match lookup b acs with
      | Some (Account q a d) =>
          (* Bytes that no one expects could complete a phase while others are in flight. *)
          if (a =? 0) && (d <? Z.of_nat n)%Z then None
          else Some (set b (Account q a (d - Z.of_nat n)) acs, set t [b] cl)
      | None => None
      end
  | Expect b n =>
      match lookup b acs with
      | Some (Account q a d) =>
          if a =? 0 then None else Some (set b (Account q a (d + Z.of_nat n)) acs, cl)
      | None => None
      end
  | Arrive b =>
      match lookup b acs with
      | Some (Account q (S a) d) =>
          if (a =? 0) && (d <? 0)%Z then None else Some (set b (Account q a d) acs, cl)
      | _ => None
      end
  | TryWait b q' =>
      match lookup b acs with
      | Some (Account q a d) =>
          if a =? 0 then
            if eqb q q' && (d =? 0)%Z then Some (set b (Account (negb q) (count p b) 0) acs, drop b cl) else None
          else if eqb q q' then None else Some (acs, cl)
      | None => None
      end
  | Await ts => if forallb (landed cl) ts then Some (acs, cl) else None
  | Join t ts =>
      Some (acs, match join cl ts with
        | Some bs => set t bs cl
        | None => remove t cl
        end)
  end.

Fixpoint run (p : code) (is_ : list instr) (k : knowledge) : option knowledge :=
  match is_ with
  | [] => Some k
  | i :: is_ => match run_knowledge p i k with Some k => run p is_ k | None => None end
  end.

Definition account_follows (acs : list (barrier * account)) (c : barrier * account) : bool :=
  match lookup (fst c) acs with
  | Some (Account q a d) =>
      eqb q (parity (snd c)) && (a =? arrivals (snd c)) && (d =? debt (snd c))%Z
  | None => false
  end.

Definition claim_follows (cl : list (token * list barrier)) (c : token * list barrier) : bool :=
  match lookup (fst c) cl with
  | Some bs => forallb (fun b => existsb (Nat.eqb b) (snd c)) bs
  | None => false
  end.

Definition check_edge (cert : certificate) (k : knowledge) (target succ : nat) : bool :=
  match nth_error cert succ with
  | Some nd =>
      (node_block nd =? target) &&
      forallb (account_follows (fst k)) (accounts nd) &&
      forallb (claim_follows (snd k)) (claims nd)
  | None => false
  end.

Fixpoint check_edges (cert : certificate) (k : knowledge) (bs ss : list nat) : bool :=
  match bs, ss with
  | [], [] => true
  | b :: bs, s :: ss => check_edge cert k b s && check_edges cert k bs ss
  | _, _ => false
  end.

Definition check_node (p : code) (cert : certificate) (nd : node) : bool :=
  match nth_error (blocks p) (node_block nd) with
  | Some blk =>
      match run p (instrs blk) (accounts nd, claims nd) with
      | Some k => check_edges cert k (targets blk) (succs nd)
      | None => false
      end
  | None => false
  end.

(* At the entry no phase is complete and no byte expected. *)
Definition account_begins (p : code) (c : barrier * account) : bool :=
  (0 <? count p (fst c)) && negb (parity (snd c)) && (arrivals (snd c) =? count p (fst c)) && (debt (snd c) =? 0)%Z.

Definition is_entry (p : code) (nd : node) : bool :=
  (node_block nd =? 0) &&
  forallb (account_begins p) (accounts nd) &&
  match claims nd with [] => true | _ => false end.

Definition check (p : code) (cert : certificate) : bool :=
  match cert with
  | [] => false
  | entry :: _ => is_entry p entry && forallb (check_node p cert) cert
  end.
