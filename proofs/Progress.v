(* The machine does what the theorem of Soundness.v would be empty without: no wait blocks for ever, and a copy may be in
   flight where it is awaited. *)

From Coq Require Import List Arith Relations Lia.
From AsyncOpt Require Import Machine.
Import ListNotations.

(* All copies may land. *)
Lemma all_land b is_ ctr cl e before after :
  clos_refl_trans _ land
    (State b is_ ctr cl (before ++ after) e) (State b is_ ctr cl (before ++ map land_copy after) e).
Proof.
  revert before. induction after as [|c after IH]; intros before; cbn; [apply rt_refl|].
  apply rt_trans with (State b is_ ctr cl (before ++ land_copy c :: after) e).
  - destruct (landed c) eqn:E.
    + replace (land_copy c) with c; [apply rt_refl|]. destruct c; cbn in *. now subst.
    + apply rt_step. now constructor.
  - specialize (IH (before ++ [land_copy c])). now rewrite <- !app_assoc in IH.
Qed.

(* A state whose next instruction waits comes to one where it runs, by nothing but copies that land. *)
Theorem wait_progress st f n is_ :
  rest st = Wait f n :: is_ ->
  exists st' st'', clos_refl_trans _ land st st' /\ run_instr (Wait f n) st' st'' /\ rest st'' = is_.
Proof.
  destruct st as [b r ctr cl cs e]; cbn. intros ->.
  eexists _, _. split; [apply (all_land _ _ _ _ _ [] cs)|]. split; [constructor|reflexivity].
  intros c H _ _. cbn in H. apply in_map_iff in H as [d [<- _]]. reflexivity.
Qed.

(* A block with an edge that is no loop's is not stuck at its end. *)
Theorem plain_edge_progress p st blk b' as_ blk' :
  nth_error (blocks p) (at_block st) = Some blk ->
  rest st = [] -> In (Edge Plain (Some b') as_) (edges blk) -> nth_error (blocks p) b' = Some blk' ->
  exists st', take_edge p st st'.
Proof.
  destruct st as [b r ctr cl cs e]; cbn. intros Hb -> He Hb'. eexists. econstructor; eauto. constructor.
Qed.

(* Code that awaits a copy for which it does not wait isn't safe. *)
Example no_wait : code := Code [] [Block [] [Issue 0 0; Commit 0; Await [0]] []].

Theorem no_wait_is_unsafe : ~ awaits_are_safe no_wait.
Proof.
  intros H.
  set (st := State 0 [Await [0]] (fun _ => 0) (update (fun _ => 0) 0 1) [Copy 0 0 false] (update (fun _ => []) 0 [0])).
  assert (Hst : reachable no_wait st).
  { eapply ReachStep; [eapply ReachStep; [apply ReachInitial|]|].
    2: { eapply StepInstr, (RunIssue 0 0 0 _ (fun _ => 0) (fun _ => 0) []). }
    2: { eapply StepInstr, RunCommit. }
    split; [reflexivity|]. eexists; split; reflexivity. }
  destruct (H st [0] [] 0 0 Hst) as [c [Hc Hl]]; cbn; auto.
  cbn in Hc. injection Hc as <-. discriminate.
Qed.
