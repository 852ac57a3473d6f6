(* The machine with mbarriers in place of FIFO groups: one thread that issues bulk loads and waits for phases.

   The rules are those of the PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". *)

From Coq Require Import List Arith Bool ZArith Relations.
From AsyncOpt Require Machine.
Import ListNotations.

Definition barrier := nat.
Definition token := nat.
Definition register := nat.

Notation update := Machine.update.
Notation lookup := Machine.lookup.

(* Code. *)

(* The parity for which a wait waits. *)
Inductive operand := Bit (v : bool) | Reg (r : register).

Inductive instr :=
  | Init (b : barrier) (n : nat) (* mbarrier.init: a phase counts n arrivals *)
  | Inval (b : barrier) (* mbarrier.inval *)
  | Load (b : barrier) (t : token) (n : nat) (* t names a new load, which completes n bytes on b *)
  | Expect (b : barrier) (n : nat) (* mbarrier.expect_tx *)
  | Arrive (b : barrier) (* mbarrier.arrive; arrive.expect_tx is Expect and Arrive *)
  | TryWait (b : barrier) (o : operand) (* a loop of mbarrier.try_wait.parity; true is 1 *)
  | Sync (* barrier.sync of all threads of the block; here there is one *)
  | Idle (b : barrier) (* where no load of b may be in flight, such as the end of the code; no effect *)
  | SetReg (r : register) (v : bool)
  | FlipReg (r : register)
  | Await (ts : list token) (* where the loads of ts must have landed; no effect *)
  | Join (t : token) (ts : list token). (* t names the loads of all of ts *)

Record edge := Edge {
  target : nat;
  binds : list (token * list token) }. (* a token names the loads of others, all at once *)

Record block := Block {
  instrs : list instr;
  edges : list edge }. (* any may be taken *)

Definition code := list block.

(* States. *)

Record phase_state := Phase {
  count : nat; (* the arrivals of a phase; 0 if the barrier is not initialized *)
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
Definition settle (s : phase_state) : phase_state :=
  if (pending s =? 0) && (tx s =? 0)%Z then Phase (count s) (S (phase s)) (count s) 0 else s.

Definition add_bytes (n : Z) (s : phase_state) : phase_state :=
  settle (Phase (count s) (phase s) (pending s) (tx s + n)).

Definition arrive (s : phase_state) : phase_state := settle (Phase (count s) (phase s) (pred (pending s)) (tx s)).

Definition operand_value (rs : register -> bool) (o : operand) : bool :=
  match o with Bit v => v | Reg r => rs r end.

Definition bind (e : token -> list nat) (bs : list (token * list token)) (t : token) : list nat :=
  match lookup t bs with Some ts => flat_map e ts | None => e t end.

(* A load may complete any of its bytes at any time. *)
Inductive complete : state -> state -> Prop :=
  | Complete blk is_ rs bs e before b k n after :
      0 < k ->
      complete
        (State blk is_ rs bs (before ++ InFlight b (k + n) :: after) e)
        (State blk is_ rs
          (update bs b (add_bytes (- Z.of_nat k) (bs b)))
          (before ++ InFlight b n :: after) e).

Inductive run_instr : instr -> state -> state -> Prop :=
  | RunInit b n blk is_ rs bs ls e :
      run_instr (Init b n)
        (State blk (Init b n :: is_) rs bs ls e) (State blk is_ rs (update bs b (Phase n 0 n 0)) ls e)
  | RunInval b blk is_ rs bs ls e :
      run_instr (Inval b)
        (State blk (Inval b :: is_) rs bs ls e) (State blk is_ rs (update bs b (Phase 0 0 0 0)) ls e)
  | RunLoad b t n blk is_ rs bs ls e :
      run_instr (Load b t n)
        (State blk (Load b t n :: is_) rs bs ls e)
        (State blk is_ rs bs (ls ++ [InFlight b n]) (update e t [length ls]))
  | RunExpect b n blk is_ rs bs ls e :
      run_instr (Expect b n)
        (State blk (Expect b n :: is_) rs bs ls e)
        (State blk is_ rs
          (update bs b (add_bytes (Z.of_nat n) (bs b))) ls e)
  | RunArrive b blk is_ rs bs ls e :
      run_instr (Arrive b)
        (State blk (Arrive b :: is_) rs bs ls e)
        (State blk is_ rs
          (update bs b (arrive (bs b))) ls e)
  | RunTryWait b o blk is_ rs bs ls e :
      (* The phase of this parity is complete: the one that is not has the other. *)
      Nat.odd (phase (bs b)) <> operand_value rs o ->
      run_instr (TryWait b o) (State blk (TryWait b o :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunSync blk is_ rs bs ls e : run_instr Sync (State blk (Sync :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunIdle b blk is_ rs bs ls e :
      run_instr (Idle b) (State blk (Idle b :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunSetReg r v blk is_ rs bs ls e :
      run_instr (SetReg r v) (State blk (SetReg r v :: is_) rs bs ls e) (State blk is_ (update rs r v) bs ls e)
  | RunFlipReg r blk is_ rs bs ls e :
      run_instr (FlipReg r)
        (State blk (FlipReg r :: is_) rs bs ls e) (State blk is_ (update rs r (negb (rs r))) bs ls e)
  | RunAwait ts blk is_ rs bs ls e :
      run_instr (Await ts) (State blk (Await ts :: is_) rs bs ls e) (State blk is_ rs bs ls e)
  | RunJoin t ts blk is_ rs bs ls e :
      run_instr (Join t ts)
        (State blk (Join t ts :: is_) rs bs ls e)
        (State blk is_ rs bs ls (update e t (flat_map e ts))).

Inductive take_edge (p : code) : state -> state -> Prop :=
  | TakeEdge b blk ed blk' rs bs ls e :
      nth_error p b = Some blk ->
      In ed (edges blk) ->
      nth_error p (target ed) = Some blk' ->
      take_edge p (State b [] rs bs ls e) (State (target ed) (instrs blk') rs bs ls (bind e (binds ed))).

Inductive step (p : code) : state -> state -> Prop :=
  | StepComplete st st' : complete st st' -> step p st st'
  | StepInstr i st st' : run_instr i st st' -> step p st st'
  | StepEdge st st' : take_edge p st st' -> step p st st'.

(* Nothing is known of registers and tokens at the entry. *)
Definition initial (p : code) (st : state) : Prop :=
  at_block st = 0 /\
  (exists blk, nth_error p 0 = Some blk /\ rest st = instrs blk) /\
  (forall b, count (barriers st b) = 0) /\
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

(* A barrier is used only after it is initialized. *)
Definition uses (i : instr) (b : barrier) : Prop :=
  match i with
  | Inval b' | Load b' _ _ | Expect b' _ | Arrive b' | TryWait b' _ => b' = b
  | _ => False
  end.

Definition barriers_are_initialized (p : code) : Prop :=
  forall st i is_ b, reachable p st -> rest st = i :: is_ -> uses i b -> 0 < count (barriers st b).

(* A barrier is initialized only where it is not. *)
Definition inits_are_first (p : code) : Prop :=
  forall st b n is_, reachable p st -> rest st = Init b n :: is_ -> count (barriers st b) = 0.

(* No load of a barrier is in flight where there must be none. *)
Definition ends (i : instr) (b : barrier) : Prop :=
  match i with Init b' _ | Inval b' | Idle b' => b' = b | _ => False end.

Definition ends_are_idle (p : code) : Prop :=
  forall st i is_ b l,
    reachable p st -> rest st = i :: is_ -> ends i b -> In l (loads st) -> load_barrier l = b -> left l = 0.

(* No phase has more arrivals than it counts. *)
Definition arrivals_are_pending (p : code) : Prop :=
  forall st b is_, reachable p st -> rest st = Arrive b :: is_ -> 0 < pending (barriers st b).

(* A wait ends once enough of the loads in flight have landed. *)
Definition waits_end (p : code) : Prop :=
  forall st b o is_,
    reachable p st -> rest st = TryWait b o :: is_ ->
    exists st' st'', clos_refl_trans _ complete st st' /\ run_instr (TryWait b o) st' st''.
