(* Code with mbarriers that has a certificate, and code that isn't safe. *)

From Coq Require Import List Arith ZArith Relations.
From AsyncOpt Require Import Mbarrier MbarrierChecker MbarrierSoundness MbarrierThreads.
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

(* The first thread is two phases ahead of the other one, which takes the second phase for the one before the first. *)
Definition no_sync : list instr := [Init 0 1; Sync; Arrive 0; TryWait 0 (Bit false); Arrive 0; TryWait 0 (Bit true)].

Definition no_sync_way : list event := map Do no_sync.

Theorem no_sync_is_stuck rs e :
  way [Block no_sync []] 0 no_sync no_sync_way /\ ~ threads_move_on no_sync_way rs e.
Proof.
  split; [repeat constructor|]. intros H.
  assert (Hs : exists bs, reach no_sync_way rs e (Threads 6 [3] bs []) /\ phase (bs 0) = 2).
  { assert (H0 : reach no_sync_way rs e (Threads 0 [0] (fun _ => Phase 0 0 0 0) [])) by repeat constructor.
    pose proof (ReachMove _ _ _ _ _ H0 (MoveFirst no_sync_way rs e 0 _ _ _ _ _ eq_refl I (RunInit 0 1 _ _ _ _ _ _))) as H1.
    pose proof (ReachMove _ _ _ _ _ H1 (MoveOther no_sync_way rs e 1 [] 0 [] _ _ _ eq_refl I)) as H2.
    assert (Hsync : all_at 1 1 [1]) by repeat constructor.
    pose proof (ReachMove _ _ _ _ _ H2 (MoveOther no_sync_way rs e 1 [] 1 [] _ _ _ eq_refl Hsync)) as H3.
    pose proof (ReachMove _ _ _ _ _ H3 (MoveOther no_sync_way rs e 1 [] 2 [] _ _ _ eq_refl I)) as H4.
    assert (Hsync' : all_at 1 1 [3]) by repeat constructor.
    pose proof (ReachMove _ _ _ _ _ H4 (MoveFirst no_sync_way rs e 1 _ _ _ _ _ eq_refl Hsync' (RunSync _ _ _ _ _ _))) as H5.
    pose proof (ReachMove _ _ _ _ _ H5 (MoveFirst no_sync_way rs e 2 _ _ _ _ _ eq_refl I (RunArrive 0 _ _ _ _ _ _))) as H6.
    cbn in H6. match type of H6 with reach _ _ _ (Threads _ _ ?bs _) => assert (Hw : Nat.odd (phase (bs 0)) <> false) by discriminate end.
    pose proof (ReachMove _ _ _ _ _ H6 (MoveFirst no_sync_way rs e 3 _ _ _ _ _ eq_refl Hw (RunTryWait 0 (Bit false) _ _ _ _ _ _ Hw))) as H7.
    pose proof (ReachMove _ _ _ _ _ H7 (MoveFirst no_sync_way rs e 4 _ _ _ _ _ eq_refl I (RunArrive 0 _ _ _ _ _ _))) as H8.
    cbn in H8. match type of H8 with reach _ _ _ (Threads _ _ ?bs _) => assert (Hw' : Nat.odd (phase (bs 0)) <> true) by discriminate end.
    pose proof (ReachMove _ _ _ _ _ H8 (MoveFirst no_sync_way rs e 5 _ _ _ _ _ eq_refl Hw' (RunTryWait 0 (Bit true) _ _ _ _ _ _ Hw'))) as H9.
    cbn in H9. eexists. split; [exact H9|reflexivity]. }
  destruct Hs as (bs & Hs & Hphase). destruct (H _ Hs) as (s & s' & Hland & Hmove).
  { exists 3. cbn. auto. }
  assert (Heq : s = Threads 6 [3] bs []).
  { apply clos_rt_rt1n in Hland. inversion Hland as [|s1 s2 Hl]; [reflexivity|]. subst.
    inversion Hl as [j fs bs' ls is_ st Hc]; subst. unfold seen in Hc. inversion Hc as [blk is0 rs0 bs0 e0 before b k n after _ E].
    now destruct before. }
  subst s. remember (Threads 6 [3] bs []) as s eqn:E.
  destruct Hmove as [j fs bs' ls i st Hev|j fs bs' ls ed Hev|j before f after bs' ls ev Hev Hpass];
    injection E as -> E' -> ->; try discriminate.
  destruct before as [|x before]; injection E' as -> E'; [|now destruct before].
  injection Hev as <-. cbn in Hpass. now rewrite Hphase in Hpass.
Qed.
