(* Certificates of code with mbarriers, and their checker. *)

From Coq Require Import List Arith ZArith Bool.
From AsyncOpt Require Import Machine Checker.
From AsyncOpt Require Import Mbarrier.
Import ListNotations.

(* A bit, or a register xor a bit. *)
Record parity_of := Parity {
  of_reg : option register;
  of_bit : bool }.

(* The phase that the thread has to do with. When its last arrival is done and its debt is paid, it may be complete. *)
Record account := Account {
  total : nat; (* the arrivals of each phase *)
  parity : parity_of;
  arrivals : nat; (* pending *)
  debt : Z; (* bytes expected, less those of the loads issued *)
  loaded : bool; (* loads may be in flight *)
  fresh : bool; (* other threads may not know that the barrier is initialized *)
  at_wait : bool }. (* other threads may be at their wait for the last phase *)

Record node := Node {
  node_block : nat;
  registers : list (register * bool); (* those whose value is known *)
  accounts : list (barrier * option account); (* the barriers of which something is known; None is not initialized *)
  claims : list (token * list barrier); (* the loads of a token have landed or complete on one of these *)
  succs : list nat }. (* by edge of the block *)

Definition certificate := list node.

Record knowledge := Known {
  known_registers : list (register * bool);
  known_accounts : list (barrier * option account);
  known_claims : list (token * list barrier) }.

(* Parities. *)

Definition operand_parity (o : operand) : parity_of :=
  match o with Bit v => Parity None v | Reg r => Parity (Some r) false end.

(* Returns true if the parity is of register r. *)
Definition reads (r : register) (q : parity_of) : bool :=
  match of_reg q with Some r' => r' =? r | None => false end.

Definition invert (q : parity_of) : parity_of := Parity (of_reg q) (negb (of_bit q)).

(* A bit if the value of the register is known. *)
Definition resolve (rs : list (register * bool)) (q : parity_of) : parity_of :=
  match of_reg q with
  | Some r => match lookup r rs with Some v => Parity None (xorb v (of_bit q)) | None => q end
  | None => q
  end.

Definition same_reg (r r' : option register) : bool :=
  match r, r' with Some r, Some r' => r =? r' | None, None => true | _, _ => false end.

(* Returns true if the two are equal for all values that the registers may have. *)
Definition same (rs : list (register * bool)) (q q' : parity_of) : bool :=
  let q := resolve rs q in
  let q' := resolve rs q' in
  same_reg (of_reg q) (of_reg q') && eqb (of_bit q) (of_bit q').

(* Accounts. *)

Definition map_accounts (f : account -> account) (acs : list (barrier * option account)) : list (barrier * option account) :=
  map (fun c => (fst c, option_map f (snd c))) acs.

(* The account after a register is inverted. *)
Definition flip (r : register) (acc : account) : account :=
  let (n, q, a, d, l, f, w) := acc in
  Account n (if reads r q then invert q else q) a d l f w.

(* The account after all threads have met. *)
Definition sync (acc : account) : account :=
  let (n, q, a, d, l, f, w) := acc in
  Account n q a d l false false.

(* Returns true if the parity of an account is of register r. *)
Definition account_reads (r : register) (c : barrier * option account) : bool :=
  match snd c with Some acc => reads r (parity acc) | None => false end.

Definition may_be_loaded (acc : option account) : bool :=
  match acc with Some acc => loaded acc | None => false end.

(* Claims. *)

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

Definition run_knowledge (i : instr) (k : knowledge) : option knowledge :=
  let (rs, acs, cl) := k in
  match i with
  | Init b n =>
      match lookup b acs with
      | Some None =>
          if n =? 0 then None else Some (Known rs (set b (Some (Account n (Parity None false) n 0 false true false)) acs) cl)
      | _ => None
      end
  | Inval b =>
      match lookup b acs with
      | Some (Some (Account n q a d l f w)) => if l || w then None else Some (Known rs (set b None acs) cl)
      | _ => None
      end
  | Load b t n =>
      match lookup b acs with
      | Some (Some (Account m q a d l f w)) =>
          (* Bytes that no one expects could complete a phase while others are in flight. *)
          if (a =? 0) && (d <? Z.of_nat n)%Z then None
          else Some (Known rs (set b (Some (Account m q a (d - Z.of_nat n) true f w)) acs) (set t [b] cl))
      | _ => None
      end
  | Expect b n =>
      match lookup b acs with
      | Some (Some (Account m q a d l f w)) =>
          if a =? 0 then None else Some (Known rs (set b (Some (Account m q a (d + Z.of_nat n) l f w)) acs) cl)
      | _ => None
      end
  | Arrive b =>
      match lookup b acs with
      | Some (Some (Account m q (S a) d l f w)) =>
          (* If the next phase were complete, who is still at the wait for the last one would never pass. *)
          if (a =? 0) && ((d <? 0)%Z || w) then None else Some (Known rs (set b (Some (Account m q a d l f w)) acs) cl)
      | _ => None
      end
  | TryWait b o =>
      match lookup b acs with
      | Some (Some (Account m q a d l f w)) =>
          if f then None
          else if a =? 0 then
            if same rs q (operand_parity o) && (d =? 0)%Z then
              Some (Known rs (set b (Some (Account m (invert q) m 0 false false true)) acs) (drop b cl))
            else None
          else if same rs (invert q) (operand_parity o) then
            Some (Known rs (set b (Some (Account m q a d l false true)) acs) cl)
          else None
      | _ => None
      end
  | Sync => Some (Known rs (map_accounts sync acs) cl)
  | Idle b =>
      match lookup b acs with
      | Some acc => if may_be_loaded acc then None else Some k
      | None => None
      end
  | SetReg r v =>
      if existsb (account_reads r) acs then None else Some (Known (set r v rs) acs cl)
  | FlipReg r =>
      Some (Known
        match lookup r rs with Some v => set r (negb v) rs | None => rs end
        (map_accounts (flip r) acs) cl)
  | Await ts => if forallb (landed cl) ts then Some k else None
  | Join t ts =>
      Some (Known rs acs
        match join cl ts with
        | Some bs => set t bs cl
        | None => remove t cl
        end)
  end.

Fixpoint run (is_ : list instr) (k : knowledge) : option knowledge :=
  match is_ with
  | [] => Some k
  | i :: is_ => match run_knowledge i k with Some k => run is_ k | None => None end
  end.

Definition register_follows (rs : list (register * bool)) (c : register * bool) : bool :=
  match lookup (fst c) rs with Some v => eqb v (snd c) | None => false end.

(* Returns true if the two say the same. *)
Definition same_account (rs : list (register * bool)) (acc acc' : account) : bool :=
  let (m, q, a, d, l, f, w) := acc in
  let (m', q', a', d', l', f', w') := acc' in
  (m =? m') && same rs q q' && (a =? a') && (d =? d')%Z && eqb l l' && eqb f f' && eqb w w'.

Definition account_follows (k : knowledge) (c : barrier * option account) : bool :=
  match lookup (fst c) (known_accounts k), snd c with
  | Some (Some acc), Some acc' => same_account (known_registers k) acc acc'
  | Some None, None => true
  | _, _ => false
  end.

(* Where the loads of a token may be in flight after an edge has bound tokens. *)
Definition bound (cl : list (token * list barrier)) (binds : list (token * list token)) (t : token) : option (list barrier) :=
  match lookup t binds with Some ts => join cl ts | None => lookup t cl end.

Definition claim_follows (cl : list (token * list barrier)) (binds : list (token * list token))
    (c : token * list barrier) : bool :=
  match bound cl binds (fst c) with
  | Some bs => forallb (fun b => existsb (Nat.eqb b) (snd c)) bs
  | None => false
  end.

Definition check_edge (cert : certificate) (k : knowledge) (ed : edge) (succ : nat) : bool :=
  match nth_error cert succ with
  | Some nd =>
      (node_block nd =? target ed) &&
      forallb (register_follows (known_registers k)) (registers nd) &&
      forallb (account_follows k) (accounts nd) &&
      forallb (claim_follows (known_claims k) (binds ed)) (claims nd)
  | None => false
  end.

Fixpoint check_edges (cert : certificate) (k : knowledge) (eds : list edge) (ss : list nat) : bool :=
  match eds, ss with
  | [], [] => true
  | ed :: eds, s :: ss => check_edge cert k ed s && check_edges cert k eds ss
  | _, _ => false
  end.

Definition check_node (p : code) (cert : certificate) (nd : node) : bool :=
  match nth_error p (node_block nd) with
  | Some blk =>
      match run (instrs blk) (Known (registers nd) (accounts nd) (claims nd)) with
      | Some k => check_edges cert k (edges blk) (succs nd)
      | None => false
      end
  | None => false
  end.

(* At the entry no barrier is initialized, and no load in flight. *)
Definition is_entry (nd : node) : bool :=
  (node_block nd =? 0) &&
  forallb (fun c : barrier * option account => match snd c with Some _ => false | None => true end) (accounts nd) &&
  match registers nd, claims nd with [], [] => true | _, _ => false end.

Definition check (p : code) (cert : certificate) : bool :=
  match cert with
  | [] => false
  | entry :: _ => is_entry entry && forallb (check_node p cert) cert
  end.
