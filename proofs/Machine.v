(* The machine: one thread that issues copies in FIFO groups, as cp.async does, and waits for groups.

   Block, loop, FIFO and token are numbers. A copy is a place in the list of all copies issued so far. *)

From Coq Require Import List Arith Relations.
Import ListNotations.

Definition fifo := nat.
Definition token := nat.
Definition loop := nat.

(* Code. *)

Inductive instr :=
  | Issue (f : fifo) (t : token) (* t names a new copy, which joins the open group of f *)
  | Commit (f : fifo) (* closes the open group of f *)
  | Wait (f : fifo) (n : nat) (* until only the n most recently closed groups of f may be in flight *)
  | Await (ts : list token) (* where the copies of ts must have landed; no effect *)
  | Join (t : token) (ts : list token). (* t names the copies of all of ts *)

(* An edge enters a loop, goes back to its head, exits it, or has nothing to do with loops of constant trip count. *)
Inductive kind := Plain | Enter (l : loop) | Back (l : loop) | Exit (l : loop).

Record edge := Edge {
  edge_kind : kind;
  target : option nat; (* a block; none leaves the program *)
  args : list token }.

Record block := Block {
  params : list token;
  instrs : list instr;
  edges : list edge }.

Record code := Code {
  trips : list nat; (* by loop *)
  blocks : list block }.

(* States. *)

Record copy := Copy {
  copy_fifo : fifo;
  group : nat; (* how many groups of its FIFO were closed when it was issued *)
  landed : bool }.

Record state := State {
  at_block : nat;
  rest : list instr; (* of at_block, still to run *)
  counter : loop -> nat;
  closed : fifo -> nat; (* how many groups are closed *)
  copies : list copy;
  env : token -> list nat }.

(* 0 while its group is open, then one more for each group closed since it was issued. *)
Definition age (st : state) (c : copy) : nat := closed st (copy_fifo c) - group c.

Definition update {A} (f : nat -> A) (x : nat) (v : A) : nat -> A := fun y => if y =? x then v else f y.

(* The value of the first entry for a key. *)
Fixpoint lookup {A} (k : nat) (l : list (nat * A)) : option A :=
  match l with
  | [] => None
  | (k', v) :: l => if k' =? k then Some v else lookup k l
  end.

(* The token outside an edge whose copies token t has behind it. *)
Definition source (ps as_ : list token) (t : token) : token :=
  match lookup t (combine ps as_) with Some a => a | None => t end.

Definition bind (ps as_ : list token) (e : token -> list nat) : token -> list nat := fun t => e (source ps as_ t).

(* Steps. *)

Definition land_copy (c : copy) : copy := Copy (copy_fifo c) (group c) true.

(* Copies land at any time and in any order. *)
Inductive land : state -> state -> Prop :=
  | Land b is_ ctr cl e before c after :
      landed c = false ->
      land (State b is_ ctr cl (before ++ c :: after) e) (State b is_ ctr cl (before ++ land_copy c :: after) e).

(* A group that is closed and not among the n most recent has landed. *)
Definition wait_over (cl : fifo -> nat) (cs : list copy) (f : fifo) (n : nat) : Prop :=
  forall c, In c cs -> copy_fifo c = f -> n < cl f - group c -> landed c = true.

Inductive run_instr : instr -> state -> state -> Prop :=
  | RunIssue f t b is_ ctr cl cs e :
      run_instr (Issue f t)
        (State b (Issue f t :: is_) ctr cl cs e)
        (State b is_ ctr cl (cs ++ [Copy f (cl f) false]) (update e t [length cs]))
  | RunCommit f b is_ ctr cl cs e :
      run_instr (Commit f)
        (State b (Commit f :: is_) ctr cl cs e)
        (State b is_ ctr (update cl f (S (cl f))) cs e)
  | RunWait f n b is_ ctr cl cs e :
      wait_over cl cs f n ->
      run_instr (Wait f n) (State b (Wait f n :: is_) ctr cl cs e) (State b is_ ctr cl cs e)
  | RunAwait ts b is_ ctr cl cs e :
      run_instr (Await ts) (State b (Await ts :: is_) ctr cl cs e) (State b is_ ctr cl cs e)
  | RunJoin t ts b is_ ctr cl cs e :
      run_instr (Join t ts)
        (State b (Join t ts :: is_) ctr cl cs e)
        (State b is_ ctr cl cs (update e t (flat_map e ts))).

(* The counters before and after an edge that may be taken. *)
Inductive count (ns : list nat) : kind -> (loop -> nat) -> (loop -> nat) -> Prop :=
  | CountPlain ctr : count ns Plain ctr ctr
  | CountEnter l n ctr : nth_error ns l = Some n -> 0 < n -> count ns (Enter l) ctr (update ctr l 0)
  | CountBack l n ctr :
      nth_error ns l = Some n -> S (ctr l) < n -> count ns (Back l) ctr (update ctr l (S (ctr l)))
  | CountExit l n ctr : nth_error ns l = Some n -> S (ctr l) = n -> count ns (Exit l) ctr ctr.

Inductive take_edge (p : code) : state -> state -> Prop :=
  | TakeEdge b blk k b' as_ blk' ctr ctr' cl cs e :
      nth_error (blocks p) b = Some blk ->
      In (Edge k (Some b') as_) (edges blk) ->
      nth_error (blocks p) b' = Some blk' ->
      count (trips p) k ctr ctr' ->
      take_edge p (State b [] ctr cl cs e) (State b' (instrs blk') ctr' cl cs (bind (params blk') as_ e)).

Inductive step (p : code) : state -> state -> Prop :=
  | StepLand st st' : land st st' -> step p st st'
  | StepInstr i st st' : run_instr i st st' -> step p st st'
  | StepEdge st st' : take_edge p st st' -> step p st st'.

(* Nothing is known of counters, copies and tokens at the entry: code may be called with copies in flight. *)
Definition initial (p : code) (st : state) : Prop :=
  at_block st = 0 /\ exists blk, nth_error (blocks p) 0 = Some blk /\ rest st = instrs blk.

Inductive reachable (p : code) : state -> Prop :=
  | ReachInitial st : initial p st -> reachable p st
  | ReachStep st st' : reachable p st -> step p st st' -> reachable p st'.

(* The next instruction may run only if every copy of its tokens has landed. *)
Definition has_landed (st : state) (c : nat) : Prop :=
  exists d, nth_error (copies st) c = Some d /\ landed d = true.

Definition awaits_are_safe (p : code) : Prop :=
  forall st ts is_ t c,
    reachable p st -> rest st = Await ts :: is_ -> In t ts -> In c (env st t) -> has_landed st c.
