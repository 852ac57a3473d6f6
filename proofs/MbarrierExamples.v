(* Code with mbarriers that has a certificate, and code that isn't safe. *)

From Coq Require Import List Arith ZArith.
From AsyncOpt Require Import Mbarrier MbarrierChecker MbarrierSoundness.
Import ListNotations.

(* A loop that loads 16 bytes ahead, unrolled by two for the two parities. *)
Definition pipeline : code :=
  let load := [Expect 0 16; Arrive 0; Load 0 1 16] in
  Code [1] [
    Block load [1];
    Block (TryWait 0 false :: Await [1] :: load) [2; 3];
    Block (TryWait 0 true :: Await [1] :: load) [1];
    Block [TryWait 0 true; Await [1]] []].

Definition pipeline_certificate : certificate := [
  Node 0 [(0, Account false 1 0)] [] [1];
  Node 1 [(0, Account false 0 0)] [(1, [0])] [2; 3];
  Node 2 [(0, Account true 0 0)] [(1, [0])] [1];
  Node 3 [(0, Account true 0 0)] [(1, [0])] []].

Theorem pipeline_is_safe : awaits_are_safe pipeline /\ arrivals_are_pending pipeline /\ waits_end pipeline.
Proof.
  assert (H : check pipeline pipeline_certificate = true) by reflexivity.
  exact (conj (check_awaits _ _ H) (conj (check_arrivals _ _ H) (check_waits _ _ H))).
Qed.

(* No byte is expected when the thread arrives: the phase is complete before the load has landed. *)
Definition early_phase : code := Code [1] [Block [Arrive 0; Load 0 1 16; TryWait 0 false; Await [1]] []].

Theorem early_phase_is_unsafe : ~ awaits_are_safe early_phase.
Proof.
  intros H.
  assert (Hst : exists st, reachable early_phase st /\ rest st = [Await [1]] /\
      env st 1 = [0] /\ loads st = [InFlight 0 16]).
  { eexists. split.
    - eapply ReachStep; [eapply ReachStep; [eapply ReachStep; [apply ReachInitial|]|]|].
      2: { eapply StepInstr, (RunArrive early_phase 0 0 [Load 0 1 16; TryWait 0 false; Await [1]]
        (fun b => Phase 0 (count early_phase b) 0) [] (fun _ => [])). }
      2: { eapply StepInstr, RunLoad. }
      2: { eapply StepInstr, (RunTryWait early_phase 0 false). discriminate. }
      split; [|split; [eexists; split|split]]; reflexivity.
    - auto. }
  destruct Hst as (st & Hst & Hrest & Henv & Hloads).
  destruct (H st [1] [] 1 0 Hst Hrest) as [l [Hl Hleft]]; [cbn; auto|rewrite Henv; cbn; auto|].
  rewrite Hloads in Hl. injection Hl as <-. discriminate.
Qed.
