(* Code with mbarriers that has a certificate, and code that isn't safe. *)

From Coq Require Import List Arith ZArith.
From AsyncOpt Require Import Mbarrier MbarrierChecker MbarrierSoundness.
Import ListNotations.

Definition safe (p : code) : Prop :=
  barriers_are_initialized p /\ inits_are_first p /\ awaits_are_safe p /\ arrivals_are_pending p /\ waits_end p /\ ends_are_idle p.

Lemma checked p cert : check p cert = true -> safe p.
Proof.
  intros H. repeat split; [eapply check_uses|eapply check_inits|eapply check_awaits|eapply check_arrivals|eapply check_waits
    |eapply check_ends]; exact H.
Qed.

Definition load_ahead : list instr := [Expect 0 16; Arrive 0; Load 0 1 16].

(* An edge that binds nothing. *)
Definition to (b : nat) : edge := Edge b [].

(* A barrier whose phases count one arrival. *)
Definition single (q : parity_of) (a : nat) (l w : bool) : option account := Some (Account 1 q a 0 l false w).

(* A loop that loads 16 bytes ahead and keeps the parity in a register. *)
Definition pipeline : code := [
  Block ([SetReg 0 false; Init 0 1; Sync] ++ load_ahead) [to 1];
  Block ([TryWait 0 (Reg 0); Await [1]; FlipReg 0; Sync] ++ load_ahead) [to 1; to 2];
  Block [TryWait 0 (Reg 0); Await [1]; Sync; Inval 0; Idle 0] []].

Definition pipeline_certificate : certificate := [
  Node 0 [] [(0, None)] [] [1];
  Node 1 [] [(0, single (Parity (Some 0) false) 0 true false)] [(1, [0])] [1; 2];
  Node 2 [] [(0, single (Parity (Some 0) false) 0 true false)] [(1, [0])] []].

Theorem pipeline_is_safe : safe pipeline.
Proof. now apply checked with pipeline_certificate. Qed.

(* The same, unrolled by two for the two parities. The register that says which is known. *)
Definition unrolled : code := [
  Block ([SetReg 0 false; Init 0 1; Sync] ++ load_ahead) [to 1];
  Block ([TryWait 0 (Bit false); Await [1]; FlipReg 0; Sync] ++ load_ahead) [to 2; to 3];
  Block ([TryWait 0 (Reg 0); Await [1]; FlipReg 0; Sync] ++ load_ahead) [to 1];
  Block [TryWait 0 (Reg 0); Await [1]] []].

Definition unrolled_certificate : certificate := [
  Node 0 [] [(0, None)] [] [1];
  Node 1 [(0, false)] [(0, single (Parity None false) 0 true false)] [(1, [0])] [2; 3];
  Node 2 [(0, true)] [(0, single (Parity None true) 0 true false)] [(1, [0])] [1];
  Node 3 [(0, true)] [(0, single (Parity (Some 0) false) 0 true false)] [(1, [0])] []].

Theorem unrolled_is_safe : safe unrolled.
Proof. now apply checked with unrolled_certificate. Qed.

(* Two arrivals in a phase. Bytes may complete before they are expected while an arrival is pending. The first wait is for the
   phase before the first, as that of an empty stage is. *)
Definition two_arrivals : code := [
  Block [Init 0 2; Init 1 1; Sync; Arrive 0; TryWait 0 (Bit true); Sync; Load 0 1 8; Expect 0 24; Expect 1 4; Arrive 1; Load 1 4 4;
    Arrive 0; Load 0 2 16; Join 3 [1; 2]; Join 5 [6]; TryWait 0 (Bit false); Await [3]; TryWait 1 (Bit false); Await [4; 3]] []].

Theorem two_arrivals_is_safe : safe two_arrivals.
Proof. now apply checked with [Node 0 [] [(0, None); (1, None)] [] []]. Qed.

(* Two loads in flight, whose tokens an edge exchanges. *)
Definition swap : code := [
  Block [Init 0 1; Init 1 1; Sync; Expect 0 4; Arrive 0; Load 0 1 4; Expect 1 8; Arrive 1; Load 1 2 8]
    [Edge 1 [(1, [2]); (2, [1])]];
  Block [TryWait 1 (Bit false); Await [1]; TryWait 0 (Bit false); Await [2]] []].

Theorem swap_is_safe : safe swap.
Proof.
  now apply checked with [
    Node 0 [] [(0, None); (1, None)] [] [1];
    Node 1 [] [(0, single (Parity None false) 0 true false); (1, single (Parity None false) 0 true false)]
      [(1, [1]); (2, [0])] []].
Qed.

(* No byte is expected when the thread arrives: the phase is complete before the load has landed. *)
Definition early_phase : code := [Block [Init 0 1; Arrive 0; Load 0 1 16; TryWait 0 (Bit false); Await [1]] []].

Theorem early_phase_is_unsafe : ~ awaits_are_safe early_phase.
Proof.
  intros H.
  assert (Hst : exists st, reachable early_phase st /\ rest st = [Await [1]] /\
      env st 1 = [0] /\ loads st = [InFlight 0 16]).
  { eexists. split.
    - eapply ReachStep; [eapply ReachStep; [eapply ReachStep; [eapply ReachStep; [apply ReachInitial|]|]|]|].
      2: { eapply StepInstr, (RunInit 0 1 0 [Arrive 0; Load 0 1 16; TryWait 0 (Bit false); Await [1]]
        (fun _ => false) (fun b => Phase 0 0 0 0) [] (fun _ => [])). }
      2: { eapply StepInstr, RunArrive. }
      2: { eapply StepInstr, RunLoad. }
      2: { eapply StepInstr, (RunTryWait 0 (Bit false)). discriminate. }
      split; [|split; [eexists; split|split]]; reflexivity.
    - auto. }
  destruct Hst as (st & Hst & Hrest & Henv & Hloads).
  destruct (H st [1] [] 1 0 Hst Hrest) as [l [Hl Hleft]]; [cbn; auto|rewrite Henv; cbn; auto|].
  rewrite Hloads in Hl. injection Hl as <-. discriminate.
Qed.
