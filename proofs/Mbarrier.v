(* The machine with mbarriers in place of FIFO groups: one thread that issues bulk loads and waits for phases.

   The rules are those of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". Barriers are
   initialized before the code begins, with no load in flight. *)

From Coq Require Import List Arith Bool ZArith Relations.
From AsyncOpt Require Machine.
Import ListNotations.

Definition barrier := nat.
Definition token := nat.
Definition register := nat.

Notation update := Machine.update.

(* Code. *)

(* The parity for which a wait waits. *)
Inductive operand := Bit (v : bool) | Reg (r : register).

Inductive instr :=
  | Load (b : barrier) (t : token) (n : nat) (* t names a new load, which completes n bytes on b *)
  | Expect (b : barrier) (n : nat) (* mbarrier.expect_tx *)
  | Arrive (b : barrier) (* mbarrier.arrive; arrive.expect_tx is Expect and Arrive *)
  | TryWait (b : barrier) (o : operand) (* a loop of mbarrier.try_wait.parity; true is 1 *)
  | SetReg (r : register) (v : bool)
  | FlipReg (r : register)
  | Await (ts : list token) (* where the loads of ts must have landed; no effect *)
  | Join (t : token) (ts : list token). (* t names the loads of all of ts *)

Record block := Block {
  instrs : list instr;
  targets : list nat }. (* any may be taken *)

Record code := Code {
  counts : list nat; (* the arrivals of a phase, by barrier *)
  blocks : list block }.

Definition count (p : code) (b : barrier) : nat := nth b (counts p) 0.

(* States. *)

Record phase_state := Phase {
  phase : nat; (* how many are complete *)
  pending : nat;
  tx : Z }.

Record load := InFlight {
  load_barrier : barrier;
  left : nat }. (* bytes; 0 when it has landed *)

Record state := State {
  at_block : nat;
  rest : list instr;
  regs : register -> bool;
  barriers : barrier -> phase_state;
  loads : list load;
  env : token -> list nat }.

(* Steps. *)

(* A phase without pending arrivals and bytes is complete, and the next begins. *)
Definition settle (n : nat) (s : phase_state) : phase_state :=
  if (pending s =? 0) && (tx s =? 0)%Z then Phase (S (phase s)) n 0 else s.

Definition operand_value (rs : register -> bool) (o : operand) : bool :=
  match o with Bit v => v | Reg r => rs r end.

(* A load may complete any of its bytes at any time. *)
Inductive complete (p : code) : state -> state -> Prop :=
  | Complete blk is_ rs bs e before b k n after :
      0 < k ->
      complete p
        (State blk is_ rs bs (before ++ InFlight b (k + n) :: after) e)
        (State blk is_ rs
          (update bs b (settle (count p b) (Phase (phase (bs b)) (pending (bs b)) (tx (bs b) - Z.of_nat k))))
          (before ++ InFlight b n :: after) e).

Inductive run_instr (p : code) : instr -> state -> state -> Prop :=
  | RunLoad b t n blk is_ rs bs ls e :
      run_instr p (Load b t n)
        (State blk (Load b t n :: is_) rs bs ls e)
        (State blk is_ rs bs (ls ++ [InFlight b n]) (update e t [length ls]))
  | RunExpect b n blk is_ rs bs ls e :
      run_instr p (Expect b n)
        (State blk (Expect b n :: is_) rs bs ls e)
        (State blk is_ rs
          (update bs b (settle (count p b) (Phase (phase (bs b)) (pending (bs b)) (tx (bs b) + Z.of_nat n)))) ls e)
  | RunArrive b blk is_ rs bs ls e :
      run_instr p (Arrive b)
        (State blk (Arrive b :: is_) rs bs ls e)
        (State blk is_ rs
          (update bs b (settle (count p b) (Phase (phase (bs b)) (pred (pending (bs b))) (tx (bs b))))) ls e)
  | RunTryWait b o blk is_ rs bs ls e :
      (* The phase of this parity is complete: the one that is not has the other. *)
      Nat.odd (phase (bs b)) <> operand_value rs o ->
      run_instr p (TryWait b o) (State blk (TryWait b o :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunSetReg r v blk is_ rs bs ls e :
      run_instr p (SetReg r v) (State blk (SetReg r v :: is_) rs bs ls e) (State blk is_ (update rs r v) bs ls e)
  | RunFlipReg r blk is_ rs bs ls e :
      run_instr p (FlipReg r)
        (State blk (FlipReg r :: is_) rs bs ls e) (State blk is_ (update rs r (negb (rs r))) bs ls e)
  | RunAwait ts blk is_ rs bs ls e :
      run_instr p (Await ts) (State blk (Await ts :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunJoin t ts blk is_ rs bs ls e :
      run_instr p (Join t ts)
        (State blk (Join t ts :: is_) rs bs ls e)
        (State blk is_ rs bs ls (update e t (flat_map e ts))).

Inductive take_edge (p : code) : state -> state -> Prop :=
  | TakeEdge b blk b' blk' rs bs ls e :
      nth_error (blocks p) b = Some blk ->
      In b' (targets blk) ->
      nth_error (blocks p) b' = Some blk' ->
      take_edge p (State b [] rs bs ls e) (State b' (instrs blk') rs bs ls e).

Inductive step (p : code) : state -> state -> Prop :=
  | StepComplete st st' : complete p st st' -> step p st st'
  | StepInstr i st st' : run_instr p i st st' -> step p st st'
  | StepEdge st st' : take_edge p st st' -> step p st st'.

(* Nothing is known of registers and tokens at the entry. *)
Definition initial (p : code) (st : state) : Prop :=
  at_block st = 0 /\
  (exists blk, nth_error (blocks p) 0 = Some blk /\ rest st = instrs blk) /\
  (forall b, barriers st b = Phase 0 (count p b) 0) /\
  loads st = [].

Inductive reachable (p : code) : state -> Prop :=
  | ReachInitial st : initial p st -> reachable p st
  | ReachStep st st' : reachable p st -> step p st st' -> reachable p st'.

(* What code must not do. *)

Definition has_landed (st : state) (i : nat) : Prop :=
  exists l, nth_error (loads st) i = Some l /\ left l = 0.

(* All loads of the tokens have landed where they are awaited. *)
Definition awaits_are_safe (p : code) : Prop :=
  forall st ts is_ t i,
    reachable p st -> rest st = Await ts :: is_ -> In t ts -> In i (env st t) -> has_landed st i.

(* No phase has more arrivals than it counts. *)
Definition arrivals_are_pending (p : code) : Prop :=
  forall st b is_, reachable p st -> rest st = Arrive b :: is_ -> 0 < pending (barriers st b).

(* A wait ends once enough of the loads in flight have landed. *)
Definition waits_end (p : code) : Prop :=
  forall st b o is_,
    reachable p st -> rest st = TryWait b o :: is_ ->
    exists st' st'', clos_refl_trans _ (complete p) st st' /\ run_instr p (TryWait b o) st' st''.
