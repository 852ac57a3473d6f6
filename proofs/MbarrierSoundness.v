(* The checker for mbarriers is sound: code that has a certificate awaits no load in flight, arrives no more often than a phase
   counts, and waits for no phase that never completes. *)

From Coq Require Import List Arith ZArith Bool Lia Relations.
From AsyncOpt Require Import Machine Checker Soundness.
From AsyncOpt Require Import Mbarrier MbarrierChecker.
Import ListNotations.

(* What a certificate means. *)

(* The bytes of b in flight. *)
Fixpoint outstanding (b : barrier) (ls : list load) : nat :=
  match ls with
  | [] => 0
  | l :: ls => (if load_barrier l =? b then left l else 0) + outstanding b ls
  end.

(* The phase is not complete, and its transaction count is the debt and what is in flight; or it is, and nothing is. *)
Definition phase_holds (n : nat) (s : phase_state) (o : nat) (acc : account) : Prop :=
  let (q, a, d) := acc in
  0 < n /\
  ((Nat.odd (phase s) = q /\ pending s = a /\ tx s = (d + Z.of_nat o)%Z /\
    (a = 0 -> (0 <= d)%Z /\ (0 < d + Z.of_nat o)%Z)) \/
   (a = 0 /\ d = 0%Z /\ Nat.odd (phase s) = negb q /\ pending s = n /\ tx s = 0%Z /\ o = 0)).

Definition accounts_hold (p : code) (st : state) (acs : list (barrier * account)) : Prop :=
  forall b acc, lookup b acs = Some acc ->
    phase_holds (count p b) (barriers st b) (outstanding b (loads st)) acc.

Definition load_known (l : load) (bs : list barrier) : Prop := left l = 0 \/ In (load_barrier l) bs.

Definition claims_hold (st : state) (cl : list (token * list barrier)) : Prop :=
  forall t bs, lookup t cl = Some bs ->
    forall i, In i (env st t) -> exists l, nth_error (loads st) i = Some l /\ load_known l bs.

Definition knowledge_holds (p : code) (st : state) (k : knowledge) : Prop :=
  accounts_hold p st (fst k) /\ claims_hold st (snd k).

Definition described (p : code) (cert : certificate) (st : state) : Prop :=
  exists nd blk k k',
    In nd cert /\
    nth_error (blocks p) (at_block st) = Some blk /\
    run p (rest st) k = Some k' /\
    check_edges cert k' (targets blk) (succs nd) = true /\
    knowledge_holds p st k.

(* Bytes in flight. *)

Lemma outstanding_app b ls ls' : outstanding b (ls ++ ls') = outstanding b ls + outstanding b ls'.
Proof. induction ls; cbn; lia. Qed.

Lemma outstanding_zero b ls l : outstanding b ls = 0 -> In l ls -> load_barrier l = b -> left l = 0.
Proof.
  induction ls as [|l' ls IH]; cbn; intros H []; subst; intros.
  - subst. rewrite Nat.eqb_refl in H. lia.
  - apply IH; auto. lia.
Qed.

Lemma outstanding_some b ls :
  0 < outstanding b ls -> exists before n after, ls = before ++ InFlight b (S n) :: after.
Proof.
  induction ls as [|[b' n] ls IH]; cbn; [lia|]. intros H.
  assert (Hrest : 0 < outstanding b ls -> exists before n0 after,
      InFlight b' n :: ls = before ++ InFlight b (S n0) :: after).
  { intros Ho. destruct (IH Ho) as (before & m & after & ->).
    now exists (InFlight b' n :: before), m, after. }
  destruct (Nat.eqb_spec b' b) as [->|]; [|auto].
  destruct n as [|n]; [auto|]. now exists [], n, ls.
Qed.

(* Phases. *)

Lemma settle_open n s : 0 < pending s \/ tx s <> 0%Z -> settle n s = s.
Proof.
  intros H. unfold settle. destruct (Nat.eqb_spec (pending s) 0), (Z.eqb_spec (tx s) 0); cbn; auto. lia.
Qed.

Lemma settle_complete n s : pending s = 0 -> tx s = 0%Z -> settle n s = Phase (S (phase s)) n 0.
Proof. intros H H'. unfold settle. now rewrite H, H'. Qed.

Lemma odd_succ n : Nat.odd (S n) = negb (Nat.odd n).
Proof. rewrite Nat.odd_succ. unfold Nat.odd. now rewrite negb_involutive. Qed.

(* A phase whose last arrival is done is complete once no byte is owed or in flight. *)
Lemma settle_holds n s o q d :
  0 < n -> Nat.odd (phase s) = q -> pending s = 0 -> tx s = (d + Z.of_nat o)%Z -> (0 <= d)%Z ->
  phase_holds n (settle n s) o (Account q 0 d).
Proof.
  intros Hn Hq Hp Ht Hd. split; auto. destruct (Z.eq_dec (tx s) 0) as [E|E].
  - right. rewrite settle_complete by auto. cbn [phase pending tx]. rewrite odd_succ. subst q.
    repeat split; auto; lia.
  - left. rewrite settle_open by auto. repeat split; auto; lia.
Qed.

Lemma complete_holds n s o k acc :
  0 < k -> phase_holds n s (k + o) acc ->
  phase_holds n (settle n (Phase (phase s) (pending s) (tx s - Z.of_nat k))) o acc.
Proof.
  destruct acc as [q a d]. intros Hk [Hn [(Hq & Hp & Ht & Ha)|(_ & _ & _ & _ & _ & Ho)]]; [|lia].
  destruct a as [|a].
  - destruct Ha as [Hd _]; auto. apply settle_holds; auto; cbn; lia.
  - split; auto. left. rewrite settle_open by (cbn; lia). cbn. repeat split; auto; lia.
Qed.

(* Steps. *)

Lemma complete_sound p st st' k :
  complete p st st' -> knowledge_holds p st k -> knowledge_holds p st' k.
Proof.
  intros [blk is_ bs e before b j n after Hj] [Hacs Hcl]. split; cbn in *.
  - intros b' acc Hb'. specialize (Hacs b' acc Hb'). cbn in *. unfold Machine.update.
    rewrite outstanding_app in *. cbn in *. rewrite (Nat.eqb_sym b b') in *.
    destruct (Nat.eqb_spec b' b) as [->|]; auto.
    apply complete_holds; auto.
    replace (j + (outstanding b before + (n + outstanding b after)))
      with (outstanding b before + (j + n + outstanding b after)) by lia. auto.
  - intros t L Ht i Hi. destruct (Hcl t L Ht i Hi) as [l [Hl Hk]]. cbn in *.
    destruct (Nat.lt_trichotomy i (length before)) as [H|[->|H]].
    + exists l. split; auto. rewrite nth_error_app1 in * by lia. auto.
    + rewrite nth_error_app2, Nat.sub_diag in * by lia. injection Hl as <-.
      exists (InFlight b n). split; auto. destruct Hk as [Hk|Hk]; [cbn in Hk; lia|now right].
    + exists l. split; auto. rewrite nth_error_app2 in * by lia.
      destruct (i - length before) as [|m] eqn:E; [lia|]. exact Hl.
Qed.

Lemma accounts_set p st acs b acc st' :
  accounts_hold p st acs ->
  (forall b', b' <> b -> barriers st' b' = barriers st b' /\
    outstanding b' (loads st') = outstanding b' (loads st)) ->
  phase_holds (count p b) (barriers st' b) (outstanding b (loads st')) acc ->
  accounts_hold p st' (set b acc acs).
Proof.
  intros Hacs Hother Hb b' acc'. rewrite lookup_set.
  destruct (Nat.eqb_spec b' b) as [->|Hne]; [intros H; injection H as <-; auto|].
  intros H. destruct (Hother b' Hne) as [-> ->]. now apply Hacs.
Qed.

Lemma join_sound st cl ts bs :
  claims_hold st cl -> join cl ts = Some bs ->
  forall i, In i (flat_map (env st) ts) -> exists l, nth_error (loads st) i = Some l /\ load_known l bs.
Proof.
  intros Hcl. revert bs. induction ts as [|t ts IH]; cbn; intros bs; [intros _ i []|].
  destruct (lookup t cl) as [L|] eqn:E; [|discriminate].
  destruct (join cl ts) as [L'|]; [|discriminate]. intros H; injection H as <-. intros i Hi.
  apply in_app_or in Hi as [Hi|Hi].
  - destruct (Hcl _ _ E i Hi) as [l [Hl [Hk|Hk]]]; exists l; split; auto; [now left|].
    right. apply in_or_app. auto.
  - destruct (IH _ eq_refl i Hi) as [l [Hl [Hk|Hk]]]; exists l; split; auto; [now left|].
    right. apply in_or_app. auto.
Qed.

Lemma lookup_drop b t cl :
  lookup t (drop b cl) = option_map (filter (fun b' => negb (b' =? b))) (lookup t cl).
Proof. induction cl as [|[u L] cl IH]; cbn; auto. destruct (u =? t); auto. Qed.

Lemma run_sound p i st st' k k' :
  run_instr p i st st' -> knowledge_holds p st k -> run_knowledge p i k = Some k' -> knowledge_holds p st' k'.
Proof.
  destruct k as [acs cl]. intros Hrun [Hacs Hcl] Hk. cbn [fst snd] in *.
  destruct Hrun as [b t n blk is_ bs ls e|b n blk is_ bs ls e|b blk is_ bs ls e|b q' blk is_ bs ls e Hodd
    |ts blk is_ bs ls e|t ts blk is_ bs ls e]; cbn in Hk.
  - destruct (lookup b acs) as [[q a d]|] eqn:E; [|discriminate].
    destruct ((a =? 0) && (d <? Z.of_nat n)%Z) eqn:Hlate; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; cbn.
    + apply accounts_set with (1 := Hacs); cbn.
      * intros b' Hne. rewrite outstanding_app. cbn.
        destruct (Nat.eqb_spec b b'); [congruence|]. split; auto; lia.
      * rewrite outstanding_app. cbn. rewrite Nat.eqb_refl.
        cbn in Hb. destruct Hb as [Hn [(Hq & Hp & Ht & Ha)|(-> & -> & Hq & Hp & Ht & Ho)]]; split; auto.
        -- left. repeat split; auto; [lia|..]; intros; destruct Ha as [Hd Hd']; auto; subst a;
             rewrite H in Hlate; cbn in Hlate; apply Z.ltb_ge in Hlate; lia.
        -- right. cbn in Hlate. apply Z.ltb_ge in Hlate. repeat split; auto; lia.
    + intros t' L. rewrite lookup_set. cbn [env loads]. unfold Machine.update. destruct (t' =? t).
      * intros H; injection H as <-. intros i [<-|[]].
        rewrite nth_error_app2, Nat.sub_diag by lia. eexists; split; [reflexivity|]. right; cbn; auto.
      * intros H i Hi. destruct (Hcl _ _ H i Hi) as [l [Hl Hkn]]. exists l. split; auto.
        cbn in *. rewrite nth_error_app1; auto. apply nth_error_Some. congruence.
  - destruct (lookup b acs) as [[q a d]|] eqn:E; [|discriminate].
    destruct (Nat.eqb_spec a 0) as [|Hne]; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; cbn; [|exact Hcl].
    apply accounts_set with (1 := Hacs); cbn; unfold Machine.update.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl. cbn in Hb. destruct Hb as [Hn [(Hq & Hp & Ht & Ha)|(-> & _)]]; [|lia].
      split; auto. left. rewrite settle_open by (cbn; lia). cbn. repeat split; auto; lia.
  - destruct (lookup b acs) as [[q [|a] d]|] eqn:E; [discriminate| |discriminate].
    destruct ((a =? 0) && (d <? 0)%Z) eqn:Hlast; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; cbn; [|exact Hcl].
    apply accounts_set with (1 := Hacs); cbn [barriers loads]; unfold Machine.update.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl. cbn in Hb. destruct Hb as [Hn [(Hq & Hp & Ht & Ha)|(H & _)]]; [|lia].
      rewrite Hp. cbn [pred]. destruct a as [|a].
      * cbn in Hlast. apply Z.ltb_ge in Hlast. apply settle_holds; auto.
      * split; auto. left. rewrite settle_open by (cbn; lia). cbn. repeat split; auto; lia.
  - destruct (lookup b acs) as [[q a d]|] eqn:E; [|discriminate]. pose proof (Hacs _ _ E) as Hb.
    destruct (Nat.eqb_spec a 0) as [->|].
    + destruct (eqb q q' && (d =? 0)%Z) eqn:Hq'; [|discriminate]. injection Hk as <-.
      apply andb_true_iff in Hq' as [Hq' Hd]. apply eqb_prop in Hq'. apply Z.eqb_eq in Hd. subst q' d.
      cbn in Hb. destruct Hb as [Hn [(Hq & _)|(_ & _ & Hq & Hp & Ht & Ho)]]; [congruence|].
      split; cbn.
      * apply accounts_set with (1 := Hacs); cbn; auto. split; auto. left. rewrite Ho.
        repeat split; auto; lia.
      * intros t L. rewrite lookup_drop. destruct (lookup t cl) as [L0|] eqn:Et; [|discriminate].
        cbn. intros H; injection H as <-. intros i Hi.
        destruct (Hcl _ _ Et i Hi) as [l [Hl Hkn]]. exists l. split; auto. cbn in Hl.
        destruct Hkn as [Hkn|Hkn]; [now left|].
        destruct (Nat.eq_dec (load_barrier l) b) as [Hlb|Hlb].
        -- left. eapply outstanding_zero; eauto. eapply nth_error_In; eauto.
        -- right. apply filter_In. split; auto. apply negb_true_iff. now apply Nat.eqb_neq.
    + destruct (eqb q q'); [discriminate|]. injection Hk as <-. now split.
  - destruct (forallb (landed cl) ts); [|discriminate]. injection Hk as <-. now split.
  - injection Hk as <-. split; [exact Hacs|]. intros t' L. cbn [snd env loads]. unfold Machine.update.
    destruct (join cl ts) as [L0|] eqn:E; rewrite ?lookup_set, ?lookup_remove; destruct (t' =? t);
      try (now apply Hcl); [|discriminate].
    intros H; injection H as <-. now apply (join_sound _ _ _ _ Hcl E).
Qed.

(* Nodes. *)

Lemma check_edges_in cert k bs ss b :
  check_edges cert k bs ss = true -> In b bs -> exists s, check_edge cert k b s = true.
Proof.
  revert ss. induction bs as [|b' bs IH]; intros [|s ss]; cbn; try discriminate; [intros _ []|].
  rewrite andb_true_iff. intros [Hb Hbs] [->|H]; eauto.
Qed.

Lemma node_described p cert nd st blk :
  In nd cert -> check_node p cert nd = true ->
  node_block nd = at_block st -> nth_error (blocks p) (at_block st) = Some blk -> rest st = instrs blk ->
  knowledge_holds p st (accounts nd, claims nd) -> described p cert st.
Proof.
  intros Hin Hnd Hb Hblk Hrest Hk. unfold check_node in Hnd. rewrite Hb, Hblk in Hnd.
  destruct (run p (instrs blk) (accounts nd, claims nd)) as [k'|] eqn:E; [|discriminate].
  exists nd, blk, (accounts nd, claims nd), k'. rewrite Hrest. auto.
Qed.

Lemma initial_described p cert st : check p cert = true -> initial p st -> described p cert st.
Proof.
  destruct cert as [|entry cert]; [discriminate|]. unfold check, is_entry.
  rewrite !andb_true_iff. intros [[[Hb Hacs] Hcl] Hall] (Hat & (blk & Hblk & Hrest) & Hbars & Hloads).
  apply Nat.eqb_eq in Hb. rewrite forallb_forall in Hall, Hacs.
  assert (Hin : In entry (entry :: cert)) by (cbn; auto).
  apply node_described with (nd := entry) (blk := blk); auto; [congruence|now rewrite Hat|].
  split; cbn.
  - intros b [q a d] H. specialize (Hacs _ (lookup_in _ _ _ H)). unfold account_begins in Hacs;
      cbn [fst snd parity arrivals debt] in Hacs.
    rewrite !andb_true_iff in Hacs. destruct Hacs as [[[Hn Hq] Ha] Hd].
    apply Nat.ltb_lt in Hn. apply negb_true_iff in Hq. apply Nat.eqb_eq in Ha. apply Z.eqb_eq in Hd. subst.
    rewrite Hbars, Hloads. split; auto. left. cbn. repeat split; auto; lia.
  - destruct (claims entry); [|discriminate]. intros t bs; discriminate.
Qed.

Lemma edge_sound p st st' k nd :
  barriers st' = barriers st -> loads st' = loads st -> env st' = env st ->
  forallb (account_follows (fst k)) (accounts nd) = true ->
  forallb (claim_follows (snd k)) (claims nd) = true ->
  knowledge_holds p st k -> knowledge_holds p st' (accounts nd, claims nd).
Proof.
  intros Hbars Hloads Henv Ha Hc [Hacs Hcl]. rewrite forallb_forall in Ha, Hc. split; cbn.
  - intros b [q a d] H. specialize (Ha _ (lookup_in _ _ _ H)). unfold account_follows in Ha; cbn in Ha.
    destruct (lookup b (fst k)) as [[q0 a0 d0]|] eqn:E; [|discriminate].
    rewrite !andb_true_iff in Ha. destruct Ha as [[Hq Hn] Hd].
    apply eqb_prop in Hq. apply Nat.eqb_eq in Hn. apply Z.eqb_eq in Hd. subst.
    rewrite Hbars, Hloads. now apply Hacs.
  - intros t bs H. specialize (Hc _ (lookup_in _ _ _ H)). unfold claim_follows in Hc; cbn in Hc.
    destruct (lookup t (snd k)) as [L|] eqn:E; [|discriminate].
    rewrite forallb_forall in Hc. rewrite Henv, Hloads. intros i Hi.
    destruct (Hcl _ _ E i Hi) as [l [Hl [Hk|Hk]]]; exists l; split; auto; [now left|]. right.
    specialize (Hc _ Hk). apply existsb_exists in Hc as [b [Hb Heq]]. apply Nat.eqb_eq in Heq. now subst.
Qed.

Lemma step_described p cert st st' :
  check p cert = true -> described p cert st -> step p st st' -> described p cert st'.
Proof.
  intros Hcheck (nd & blk & k & k' & Hin & Hblk & Hrun & Hedges & Hk) Hstep.
  destruct Hstep as [st st' Hc|i st st' Hi|st st' He].
  - exists nd, blk, k, k'. pose proof (complete_sound _ _ _ _ Hc Hk). destruct Hc; cbn in *. auto 10.
  - assert (Hrun' : exists k1, run_knowledge p i k = Some k1 /\ run p (rest st') k1 = Some k').
    { destruct Hi; cbn [rest run] in *; destruct run_knowledge; try discriminate; eauto. }
    destruct Hrun' as [k1 [Hk1 Hr1]]. exists nd, blk, k1, k'.
    pose proof (run_sound _ _ _ _ _ _ Hi Hk Hk1). destruct Hi; cbn in *; auto 10.
  - destruct He as [b blk0 b' blk' bs ls e Hblk0 He Hblk']. cbn in *.
    assert (blk0 = blk) by congruence. subst blk0. injection Hrun as <-.
    destruct (check_edges_in _ _ _ _ _ Hedges He) as [s Hs]. unfold check_edge in Hs.
    destruct (nth_error cert s) as [nd'|] eqn:Es; [|discriminate].
    rewrite !andb_true_iff in Hs. destruct Hs as [[Hb' Ha] Hc]. apply Nat.eqb_eq in Hb'.
    apply nth_error_In in Es. destruct cert as [|entry cert]; [discriminate|].
    unfold check in Hcheck. apply andb_true_iff in Hcheck as [_ Hall]. rewrite forallb_forall in Hall.
    apply node_described with (nd := nd') (blk := blk'); auto.
    eapply edge_sound with (6 := Hk); auto.
Qed.

Lemma reachable_described p cert st : check p cert = true -> reachable p st -> described p cert st.
Proof. induction 2; eauto using initial_described, step_described. Qed.

(* The theorems. *)

Theorem check_awaits p cert : check p cert = true -> awaits_are_safe p.
Proof.
  intros Hcheck st ts is_ t i Hst Hrest Ht Hi.
  destruct (reachable_described _ _ _ Hcheck Hst) as (nd & blk & [acs cl] & k' & _ & _ & Hrun & _ & _ & Hcl).
  rewrite Hrest in Hrun. cbn in Hrun.
  destruct (forallb (landed cl) ts) eqn:E; [|discriminate].
  rewrite forallb_forall in E. specialize (E _ Ht). unfold landed in E. cbn in Hcl.
  destruct (lookup t cl) as [[|]|] eqn:El; try discriminate.
  destruct (Hcl _ _ El _ Hi) as [l [Hl [H|[]]]]. exists l; auto.
Qed.

Theorem check_arrivals p cert : check p cert = true -> arrivals_are_pending p.
Proof.
  intros Hcheck st b is_ Hst Hrest.
  destruct (reachable_described _ _ _ Hcheck Hst) as (nd & blk & [acs cl] & k' & _ & _ & Hrun & _ & Hacs & _).
  rewrite Hrest in Hrun. cbn in Hrun, Hacs.
  destruct (lookup b acs) as [[q [|a] d]|] eqn:E; try discriminate.
  destruct (Hacs _ _ E) as [_ [(_ & Hp & _)|(H & _)]]; lia.
Qed.

(* Bytes that are neither owed nor in flight complete the phase; those in flight may complete. *)
Lemma wait_ends p b acs q cl :
  lookup b acs = Some (Account q 0 0) ->
  forall o st is_, outstanding b (loads st) <= o -> rest st = TryWait b q :: is_ ->
    knowledge_holds p st (acs, cl) ->
    exists st' st'', clos_refl_trans _ (complete p) st st' /\ run_instr p (TryWait b q) st' st''.
Proof.
  intros Hb. induction o as [|o IH]; intros st is_ Ho Hrest Hk;
    destruct (proj1 Hk _ _ Hb) as [Hn [(Hq & Hp & Ht & Ha)|(_ & _ & Hq & _)]].
  - destruct Ha; auto; lia.
  - exists st. destruct st as [blk r bs ls e]; cbn in *. subst r. eexists. split; [apply rt_refl|].
    constructor. rewrite Hq. now destruct q.
  - destruct (outstanding_some b (loads st)) as (before & n & after & Hls); [destruct Ha; auto; lia|].
    destruct st as [blk r bs ls e]; cbn in *. subst r ls.
    pose proof (Complete p blk (TryWait b q :: is_) bs e before b (S n) 0 after (Nat.lt_0_succ n)) as Hc.
    rewrite Nat.add_0_r in Hc.
    eassert (Hk' : _) by (exact (complete_sound _ _ _ _ Hc Hk)).
    edestruct IH with (3 := Hk') as (st' & st'' & Hst' & Hst''); cbn; [|reflexivity|].
    + rewrite outstanding_app in *. cbn in *. rewrite Nat.eqb_refl in *. lia.
    + exists st', st''. split; auto. eapply rt_trans; [apply rt_step; exact Hc|]. exact Hst'.
  - exists st. destruct st as [blk r bs ls e]; cbn in *. subst r. eexists. split; [apply rt_refl|].
    constructor. rewrite Hq. now destruct q.
Qed.

Theorem check_waits p cert : check p cert = true -> waits_end p.
Proof.
  intros Hcheck st b q' is_ Hst Hrest.
  destruct (reachable_described _ _ _ Hcheck Hst) as (nd & blk & [acs cl] & k' & _ & _ & Hrun & _ & Hk).
  rewrite Hrest in Hrun. cbn in Hrun.
  destruct (lookup b acs) as [[q a d]|] eqn:E; [|discriminate].
  destruct (Nat.eqb_spec a 0) as [->|Hne].
  - destruct (eqb q q' && (d =? 0)%Z) eqn:Hq; [|discriminate].
    apply andb_true_iff in Hq as [Hq Hd]. apply eqb_prop in Hq. apply Z.eqb_eq in Hd. subst.
    eapply wait_ends; eauto.
  - destruct (eqb q q') eqn:Hq; [discriminate|].
    destruct (proj1 Hk _ _ E) as [_ [(Hodd & _)|(H & _)]]; [|lia].
    exists st. destruct st as [blk' r bs ls e]; cbn in *. subst r. eexists. split; [apply rt_refl|].
    constructor. rewrite Hodd. intros ->. now rewrite eqb_reflx in Hq.
Qed.
