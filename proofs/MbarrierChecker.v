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
  parity : parity_of;
  arrivals : nat; (* pending *)
  debt : Z }. (* bytes expected, less those of the loads issued *)

Record node := Node {
  node_block : nat;
  registers : list (register * bool); (* those whose value is known *)
  accounts : list (barrier * account); (* the barriers of which something is known *)
  claims : list (token * list barrier); (* the loads of a token have landed or complete on one of these *)
  succs : list nat }. (* by target of the block *)

Definition certificate := list node.

Record knowledge := Known {
  known_registers : list (register * bool);
  known_accounts : list (barrier * account);
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

(* The account after a register is inverted. *)
Definition flip (r : register) (c : barrier * account) : barrier * account :=
  let (b, acc) := c in
  let (q, a, d) := acc in
  (b, Account (if reads r q then invert q else q) a d).

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

Definition run_knowledge (p : code) (i : instr) (k : knowledge) : option knowledge :=
  let (rs, acs, cl) := k in
  match i with
  | Load b t n =>
      match lookup b acs with
      | Some (Account q a d) =>
          (* Bytes that no one expects could complete a phase while others are in flight. *)
          if (a =? 0) && (d <? Z.of_nat n)%Z then None
          else Some (Known rs (set b (Account q a (d - Z.of_nat n)) acs) (set t [b] cl))
      | None => None
      end
  | Expect b n =>
      match lookup b acs with
      | Some (Account q a d) =>
          if a =? 0 then None else Some (Known rs (set b (Account q a (d + Z.of_nat n)) acs) cl)
      | None => None
      end
  | Arrive b =>
      match lookup b acs with
      | Some (Account q (S a) d) =>
          if (a =? 0) && (d <? 0)%Z then None else Some (Known rs (set b (Account q a d) acs) cl)
      | _ => None
      end
  | TryWait b o =>
      match lookup b acs with
      | Some (Account q a d) =>
          if a =? 0 then
            if same rs q (operand_parity o) && (d =? 0)%Z then
              Some (Known rs (set b (Account (invert q) (count p b) 0) acs) (drop b cl))
            else None
          else if same rs (invert q) (operand_parity o) then Some k else None
      | None => None
      end
  | SetReg r v =>
      if existsb (fun c => reads r (parity (snd c))) acs then None else Some (Known (set r v rs) acs cl)
  | FlipReg r =>
      Some (Known
        match lookup r rs with Some v => set r (negb v) rs | None => rs end
        (map (flip r) acs) cl)
  | Await ts => if forallb (landed cl) ts then Some k else None
  | Join t ts =>
      Some (Known rs acs
        match join cl ts with
        | Some bs => set t bs cl
        | None => remove t cl
        end)
  end.

Fixpoint run (p : code) (is_ : list instr) (k : knowledge) : option knowledge :=
  match is_ with
  | [] => Some k
  | i :: is_ => match run_knowledge p i k with Some k => run p is_ k | None => None end
  end.

Definition register_follows (rs : list (register * bool)) (c : register * bool) : bool :=
  match lookup (fst c) rs with Some v => eqb v (snd c) | None => false end.

Definition account_follows (k : knowledge) (c : barrier * account) : bool :=
  match lookup (fst c) (known_accounts k) with
  | Some (Account q a d) =>
      same (known_registers k) q (parity (snd c)) && (a =? arrivals (snd c)) && (d =? debt (snd c))%Z
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
      forallb (register_follows (known_registers k)) (registers nd) &&
      forallb (account_follows k) (accounts nd) &&
      forallb (claim_follows (known_claims k)) (claims nd)
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
      match run p (instrs blk) (Known (registers nd) (accounts nd) (claims nd)) with
      | Some k => check_edges cert k (targets blk) (succs nd)
      | None => false
      end
  | None => false
  end.

(* At the entry no phase is complete and no byte expected. *)
Definition account_begins (p : code) (c : barrier * account) : bool :=
  (0 <? count p (fst c)) && same [] (parity (snd c)) (Parity None false) && (arrivals (snd c) =? count p (fst c)) && (debt (snd c) =? 0)%Z.

Definition is_entry (p : code) (nd : node) : bool :=
  (node_block nd =? 0) &&
  forallb (account_begins p) (accounts nd) &&
  match registers nd, claims nd with [], [] => true | _, _ => false end.

Definition check (p : code) (cert : certificate) : bool :=
  match cert with
  | [] => false
  | entry :: _ => is_entry p entry && forallb (check_node p cert) cert
  end.
