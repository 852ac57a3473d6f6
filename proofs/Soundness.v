(* The checker is sound: code that has a certificate awaits no copy that is still in flight. *)

From Coq Require Import List Arith Bool Lia.
From AsyncOpt Require Import Machine Checker.
Import ListNotations.

(* What a certificate means. *)

Definition in_progression (x : nat) (p : progression) : Prop := exists k, x = fst p + k * snd p.

Definition counters_in (ctr : loop -> nat) (ctx : list (loop * progression)) : Prop :=
  forall l p, In (l, p) ctx -> in_progression (ctr l) p.

(* A copy has landed, or is of a FIFO of gs and no younger than it says there. *)
Definition copy_known (cl : fifo -> nat) (c : copy) (gs : ages) : Prop :=
  landed c = true \/
  exists a, In (copy_fifo c, a) gs /\ group c + a <= cl (copy_fifo c).

Definition known (cl : fifo -> nat) (cs : list copy) (ids : list nat) (gs : ages) : Prop :=
  forall i, In i ids -> exists c, nth_error cs i = Some c /\ copy_known cl c gs.

Definition claims_hold (cl : fifo -> nat) (cs : list copy) (e : token -> list nat) (cls : list claim) : Prop :=
  forall t gs, lookup t cls = Some gs -> known cl cs (e t) gs.

(* Some node describes the state. *)
Definition described (p : code) (cert : certificate) (st : state) : Prop :=
  exists nd blk cls cls',
    In nd cert /\
    node_block nd = at_block st /\
    nth_error (blocks p) (at_block st) = Some blk /\
    run (rest st) cls = Some cls' /\
    check_edges p cert (context nd) cls' (edges blk) (succs nd) = true /\
    counters_in (counter st) (context nd) /\
    claims_hold (closed st) (copies st) (env st) cls.

(* Association lists. *)

Lemma lookup_in {A} k (l : list (nat * A)) v : lookup k l = Some v -> In (k, v) l.
Proof.
  induction l as [|[k' v'] l IH]; cbn; [discriminate|].
  destruct (Nat.eqb_spec k' k); intros H; [injection H as ->; subst; auto|auto].
Qed.

Lemma lookup_remove {A} t t' (cls : list (nat * A)) : lookup t' (remove t cls) = if t' =? t then None else lookup t' cls.
Proof.
  induction cls as [|[u gs] cls IH]; cbn; [destruct (t' =? t); auto|].
  unfold remove in IH. destruct (Nat.eqb_spec u t); cbn; rewrite IH; destruct (Nat.eqb_spec t' t); auto;
    destruct (Nat.eqb_spec u t'); congruence.
Qed.

Lemma lookup_set {A} t (v : A) t' cls : lookup t' (set t v cls) = if t' =? t then Some v else lookup t' cls.
Proof.
  unfold set; cbn [lookup]. rewrite lookup_remove, (Nat.eqb_sym t t'). destruct (t' =? t); auto.
Qed.

Lemma lookup_map_ages f t cls : lookup t (map_ages f cls) = option_map f (lookup t cls).
Proof.
  induction cls as [|[u gs] cls IH]; cbn; auto. destruct (u =? t); auto.
Qed.

(* Counters. *)

Lemma member_spec x p : member x p = true <-> in_progression x p.
Proof.
  destruct p as [s d]; unfold in_progression; cbn.
  destruct (Nat.eqb_spec d 0).
  - subst. rewrite Nat.eqb_eq. split; [intros ->; exists 0|intros [k ->]]; lia.
  - rewrite andb_true_iff, Nat.leb_le, Nat.eqb_eq. split.
    + intros [Hle Hmod]. exists ((x - s) / d).
      pose proof (Nat.div_mod (x - s) d). nia.
    + intros [k ->]. split; [nia|]. replace (s + k * d - s) with (k * d) by lia. now apply Nat.mod_mul.
Qed.

Lemma subset_sound p p' x : subset p p' = true -> in_progression x p -> in_progression x p'.
Proof.
  destruct p as [s d], p' as [s' d']; unfold subset.
  rewrite andb_true_iff, member_spec. unfold in_progression; cbn.
  intros [[k Hk] Hd] [j Hj].
  destruct (Nat.eqb_spec d' 0) as [->|Hd'].
  - apply Nat.eqb_eq in Hd. exists 0. nia.
  - apply Nat.eqb_eq in Hd. exists (k + j * (d / d')).
    pose proof (Nat.div_mod d d' Hd'). nia.
Qed.

Lemma count_after_sound ns k ctr ctr' ctx l p :
  count ns k ctr ctr' -> counters_in ctr ctx -> count_after k ctx l = Some p -> in_progression (ctr' l) p.
Proof.
  intros Hcount Hin. unfold count_after.
  assert (Hold : forall s d, lookup l ctx = Some (s, d) -> in_progression (ctr l) (s, d))
    by (intros; eapply Hin, lookup_in; eauto).
  destruct Hcount; cbn; unfold update.
  1, 4: destruct (lookup l ctx) as [[s d]|]; [|discriminate]; intros Heq; injection Heq as <-; auto.
  - rewrite (Nat.eqb_sym l0 l). destruct (l =? l0).
    + intros Heq; injection Heq as <-. now exists 0.
    + destruct (lookup l ctx) as [[s d]|]; [|discriminate]; intros Heq; injection Heq as <-; auto.
  - rewrite (Nat.eqb_sym l0 l). destruct (lookup l ctx) as [[s d]|] eqn:E; [|discriminate].
    intros Heq; injection Heq as <-. destruct (Nat.eqb_spec l l0); auto.
    subst. destruct (Hold _ _ eq_refl) as [j Hj]. exists j. cbn in *. lia.
Qed.

Lemma context_follows_sound ns k ctr ctr' ctx ctx' :
  count ns k ctr ctr' -> counters_in ctr ctx -> forallb (context_follows k ctx) ctx' = true -> counters_in ctr' ctx'.
Proof.
  intros Hcount Hin Hall l p Hp.
  rewrite forallb_forall in Hall. specialize (Hall _ Hp). unfold context_follows in Hall; cbn in Hall.
  destruct (count_after k ctx l) eqn:E; [|discriminate].
  eapply subset_sound; [exact Hall|]. eapply count_after_sound; eauto.
Qed.

Lemma impossible_sound ns k ctr ctr' ctx :
  count ns k ctr ctr' -> counters_in ctr ctx -> impossible ns ctx k = true -> False.
Proof.
  intros Hcount Hin. destruct Hcount; cbn; [discriminate|..]; rewrite H.
  - rewrite Nat.eqb_eq. lia.
  - destruct (lookup l ctx) as [[s d]|] eqn:E; [|discriminate]. rewrite Nat.leb_le.
    destruct (Hin _ _ (lookup_in _ _ _ E)) as [j Hj]. cbn in Hj. nia.
  - rewrite orb_true_iff, Nat.eqb_eq. intros [H1|H1]; [lia|].
    destruct (lookup l ctx) as [q|] eqn:E; [|discriminate].
    apply negb_true_iff in H1. apply Bool.not_true_iff_false in H1. apply H1, member_spec.
    replace (n - 1) with (ctr l) by lia. now apply Hin, lookup_in.
Qed.

(* Claims. *)

Lemma copy_known_mono cl cl' c gs gs' :
  copy_known cl c gs ->
  (forall a, In (copy_fifo c, a) gs -> group c + a <= cl (copy_fifo c) -> landed c = false ->
    exists a', In (copy_fifo c, a') gs' /\ group c + a' <= cl' (copy_fifo c)) ->
  copy_known cl' c gs'.
Proof.
  intros [H|[a [Hin Hle]]] Hmono; [now left|].
  destruct (landed c) eqn:E; [now left|]. right. eauto.
Qed.

Lemma known_nil cl cs gs : known cl cs [] gs.
Proof. intros i []. Qed.

Lemma known_app cl cs ids ids' gs : known cl cs ids gs -> known cl cs ids' gs -> known cl cs (ids ++ ids') gs.
Proof. intros H H' i Hi. apply in_app_or in Hi as [Hi|Hi]; auto. Qed.

(* No later than: every age of gs is one of gs' or more. *)
Definition no_older (gs' gs : ages) : Prop :=
  forall f a, In (f, a) gs -> exists a', In (f, a') gs' /\ a' <= a.

Lemma known_no_older cl cs ids gs gs' : no_older gs' gs -> known cl cs ids gs -> known cl cs ids gs'.
Proof.
  intros Hold H i Hi. destruct (H i Hi) as [c [Hc Hk]]. exists c; split; auto.
  eapply copy_known_mono; [exact Hk|]. intros a Hin Hle _.
  destruct (Hold _ _ Hin) as [a' [Hin' Hle']]. exists a'; split; auto. lia.
Qed.

Lemma insert_new f a gs : exists a', In (f, a') (insert f a gs) /\ a' <= a.
Proof.
  induction gs as [|[g b] gs IH]; cbn; [eauto|].
  destruct (Nat.eqb_spec g f); subst; cbn.
  - exists (min a b). split; [auto|lia].
  - destruct IH as [a' [H H']]. eauto.
Qed.

Lemma insert_old f a gs : no_older (insert f a gs) gs.
Proof.
  induction gs as [|[g b] gs IH]; intros h c; cbn; [intros []|].
  destruct (Nat.eqb_spec g f) as [->|_]; cbn; intros [H|H].
  - injection H as <- <-. exists (min a b). split; [auto|lia].
  - eauto.
  - injection H as <- <-. eauto.
  - destruct (IH _ _ H) as [c' [Hc Hc']]. eauto.
Qed.

Lemma merge_left gs gs' : no_older (fold_right (fun g => insert (fst g) (snd g)) gs' gs) gs.
Proof.
  induction gs as [|[g b] gs IH]; intros f a; cbn; [intros []|]. intros [H|H].
  - injection H as <- <-. apply insert_new.
  - destruct (IH _ _ H) as [a' [Ha Ha']].
    destruct (insert_old g b _ _ _ Ha) as [a'' [Hb Hb']]. exists a''. split; [auto|lia].
Qed.

Lemma merge_right gs gs' : no_older (fold_right (fun g => insert (fst g) (snd g)) gs' gs) gs'.
Proof.
  induction gs as [|[g b] gs IH]; intros f a H; cbn; [eauto|].
  destruct (IH _ _ H) as [a' [Ha Ha']].
  destruct (insert_old g b _ _ _ Ha) as [a'' [Hb Hb']]. exists a''. split; [auto|lia].
Qed.

Lemma join_sound cl cs e cls ts gs :
  claims_hold cl cs e cls -> join cls ts = Some gs -> known cl cs (flat_map e ts) gs.
Proof.
  intros Hcls. revert gs. induction ts as [|t ts IH]; cbn; intros gs; [intros _; apply known_nil|].
  destruct (lookup t cls) as [g|] eqn:Et; [|discriminate].
  destruct (join cls ts) as [g'|]; [|discriminate]. intros H; injection H as <-.
  apply known_app; eapply known_no_older.
  - apply merge_left.
  - now apply Hcls.
  - apply merge_right.
  - now apply IH.
Qed.

Lemma run_claims_sound i st st' cls cls' :
  run_instr i st st' ->
  claims_hold (closed st) (copies st) (env st) cls ->
  run_claims i cls = Some cls' ->
  claims_hold (closed st') (copies st') (env st') cls'.
Proof.
  intros Hrun Hcls Hc. destruct Hrun; cbn in *.
  - injection Hc as <-. intros t' gs. rewrite lookup_set. unfold update.
    destruct (Nat.eqb_spec t' t).
    + intros H; injection H as <-. intros i [<-|[]].
      rewrite nth_error_app2, Nat.sub_diag by lia. eexists; split; [reflexivity|].
      right. exists 0. cbn. split; [auto|lia].
    + intros H i Hi. destruct (Hcls _ _ H i Hi) as [c [Hc Hk]]. exists c. split; auto.
      rewrite nth_error_app1; auto. apply nth_error_Some. congruence.
  - injection Hc as <-. intros t gs. rewrite lookup_map_ages.
    destruct (lookup t cls) as [g|] eqn:E; [|discriminate]. cbn. intros H; injection H as <-.
    intros i Hi. destruct (Hcls _ _ E i Hi) as [c [Hc Hk]]. exists c; split; auto.
    eapply copy_known_mono; [exact Hk|]. intros a Hin Hle _. unfold update.
    exists (if copy_fifo c =? f then S a else a). split.
    + unfold commit. apply in_map_iff. exists (copy_fifo c, a). auto.
    + destruct (Nat.eqb_spec (copy_fifo c) f) as [<-|]; lia.
  - injection Hc as <-. intros t gs. rewrite lookup_map_ages.
    destruct (lookup t cls) as [g|] eqn:E; [|discriminate]. cbn. intros Heq; injection Heq as <-.
    intros i Hi. destruct (Hcls _ _ E i Hi) as [c [Hc Hk]]. exists c; split; auto.
    eapply copy_known_mono; [exact Hk|]. intros a Hin Hle Hnot. exists a. split; auto.
    apply filter_In. split; auto. apply negb_true_iff. unfold waited; cbn.
    destruct (Nat.eqb_spec (copy_fifo c) f) as [Hf|]; auto. apply Nat.ltb_ge.
    apply Nat.nlt_ge. intros Hlt. rewrite (H c) in Hnot; [discriminate|..]; auto.
    + eapply nth_error_In; eauto.
    + rewrite Hf in Hle. lia.
  - destruct (forallb (complete cls) ts); [|discriminate]. now injection Hc as <-.
  - injection Hc as <-. intros t' gs. unfold update.
    destruct (join cls ts) as [g|] eqn:E; rewrite ?lookup_set, ?lookup_remove;
      destruct (t' =? t); auto; [|discriminate].
    intros H; injection H as <-. eapply join_sound; eauto.
Qed.

Lemma land_sound st st' cls :
  land st st' ->
  claims_hold (closed st) (copies st) (env st) cls -> claims_hold (closed st') (copies st') (env st') cls.
Proof.
  intros [b is_ ctr cl e before c after _]; cbn. intros Hcls t gs H i Hi.
  destruct (Hcls t gs H i Hi) as [d [Hd Hk]].
  destruct (Nat.lt_trichotomy i (length before)) as [Hl|[->|Hl]].
  - exists d. split; auto. rewrite nth_error_app1 in * by lia. auto.
  - exists (land_copy c). split; [|now left]. now rewrite nth_error_app2, Nat.sub_diag by lia.
  - exists d. split; auto. rewrite nth_error_app2 in * by lia.
    destruct (i - length before) as [|j] eqn:E; [lia|]. exact Hd.
Qed.

Lemma claim_follows_sound cl cs e cls ps as_ cls' :
  claims_hold cl cs e cls ->
  forallb (claim_follows cls ps as_) cls' = true ->
  claims_hold cl cs (bind ps as_ e) cls'.
Proof.
  intros Hcls Hall t gs' Ht. rewrite forallb_forall in Hall.
  specialize (Hall _ (lookup_in _ _ _ Ht)). unfold claim_follows in Hall; cbn in Hall.
  destruct (lookup (source ps as_ t) cls) as [gs|] eqn:E; [|discriminate].
  eapply known_no_older, (Hcls _ _ E). intros f a Hin.
  rewrite forallb_forall in Hall. specialize (Hall _ Hin). unfold weakens in Hall; cbn in Hall.
  destruct (lookup f gs') as [a'|] eqn:E'; [|discriminate].
  exists a'. split; [now apply lookup_in|now apply Nat.leb_le].
Qed.

(* Nodes. *)

Lemma check_edges_in p cert ctx cls es ss e :
  check_edges p cert ctx cls es ss = true -> In e es -> exists s, check_edge p cert ctx cls e s = true.
Proof.
  revert ss. induction es as [|e' es IH]; intros [|s ss]; cbn; try discriminate; [intros _ []|].
  rewrite andb_true_iff. intros [He Hes] [->|H]; [now exists s|now apply IH with ss].
Qed.

Lemma check_nodes p cert : check p cert = true -> forall nd, In nd cert -> check_node p cert nd = true.
Proof.
  destruct cert as [|entry cert]; [discriminate|]. unfold check. rewrite andb_true_iff.
  intros [_ H]. now apply forallb_forall.
Qed.

Lemma initial_described p cert st : check p cert = true -> initial p st -> described p cert st.
Proof.
  intros Hcheck [Hat [blk [Hblk Hrest]]].
  destruct cert as [|entry cert]; [discriminate|].
  assert (Hin : In entry (entry :: cert)) by (cbn; auto).
  pose proof (check_nodes _ _ Hcheck _ Hin) as Hnd. unfold check_node in Hnd.
  cbn in Hcheck. rewrite andb_true_iff in Hcheck. destruct Hcheck as [He _]. unfold is_entry in He.
  rewrite andb_true_iff, Nat.eqb_eq in He. destruct He as [Hb He].
  rewrite Hb, Hblk in Hnd.
  destruct (context entry) eqn:Ectx; [|discriminate].
  destruct (claims entry) eqn:Ecl; [|discriminate].
  destruct (run (instrs blk) []) as [cls'|] eqn:Erun; [|discriminate].
  exists entry, blk, [], cls'. rewrite Hat, Hrest, Ectx.
  repeat split; auto; [intros l q []|intros t gs; discriminate].
Qed.

Lemma step_described p cert st st' :
  check p cert = true -> described p cert st -> step p st st' -> described p cert st'.
Proof.
  intros Hcheck (nd & blk & cls & cls' & Hin & Hb & Hblk & Hrun & Hedges & Hctr & Hcls) Hstep.
  destruct Hstep as [st st' Hland|i st st' Hi|st st' He].
  - exists nd, blk, cls, cls'. pose proof (land_sound _ _ _ Hland Hcls).
    destruct Hland; cbn in *. auto 10.
  - assert (Hrun' : exists cls1, run_claims i cls = Some cls1 /\ run (rest st') cls1 = Some cls').
    { destruct Hi; cbn [rest run] in *; destruct run_claims; try discriminate; eauto. }
    destruct Hrun' as [cls1 [Hc1 Hr1]]. exists nd, blk, cls1, cls'.
    pose proof (run_claims_sound _ _ _ _ _ Hi Hcls Hc1).
    destruct Hi; cbn in *; auto 10.
  - destruct He as [b blk0 k b' as_ blk' ctr ctr' cl cs e Hblk0 He Hblk' Hcount]. cbn in *.
    assert (blk0 = blk) by congruence. subst blk0. injection Hrun as <-.
    destruct (check_edges_in _ _ _ _ _ _ _ Hedges He) as [s Hs]. unfold check_edge in Hs; cbn in Hs.
    destruct s as [m|]; [|exfalso; eapply impossible_sound; eauto].
    rewrite Hblk' in Hs. destruct (nth_error cert m) as [nd'|] eqn:Em; [|discriminate].
    rewrite !andb_true_iff in Hs. destruct Hs as [[[Hb' Hlen] Hctx'] Hcls'].
    apply Nat.eqb_eq in Hb'. apply nth_error_In in Em.
    pose proof (check_nodes _ _ Hcheck _ Em) as Hnd. unfold check_node in Hnd.
    rewrite Hb', Hblk' in Hnd.
    destruct (run (instrs blk') (claims nd')) as [cls2|] eqn:Er; [|discriminate].
    exists nd', blk', (claims nd'), cls2. cbn.
    repeat split; auto; [eapply context_follows_sound; eauto|eapply claim_follows_sound; eauto].
Qed.

Lemma reachable_described p cert st : check p cert = true -> reachable p st -> described p cert st.
Proof. induction 2; eauto using initial_described, step_described. Qed.

Theorem check_sound (p : code) (cert : certificate) : check p cert = true -> awaits_are_safe p.
Proof.
  intros Hcheck st ts is_ t c Hst Hrest Ht Hc.
  destruct (reachable_described _ _ _ Hcheck Hst) as (nd & blk & cls & cls' & _ & _ & _ & Hrun & _ & _ & Hcls).
  rewrite Hrest in Hrun. cbn in Hrun.
  destruct (forallb (complete cls) ts) eqn:E; [|discriminate].
  rewrite forallb_forall in E. specialize (E _ Ht). unfold complete in E.
  destruct (lookup t cls) as [[|]|] eqn:El; try discriminate.
  destruct (Hcls _ _ El _ Hc) as [d [Hd [Hl|[a [[] _]]]]]. exists d; auto.
Qed.
