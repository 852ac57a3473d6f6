(* The checker for mbarriers is sound: code that has a certificate awaits no load in flight, arrives no more often than a phase
   counts, and waits for no phase that never completes. *)

From Coq Require Import List Arith ZArith Bool Lia Relations.
From AsyncOpt Require Import Machine Checker Soundness.
From AsyncOpt Require Import Mbarrier MbarrierChecker.
Import ListNotations.

(* What a certificate means. *)

Definition value (rs : register -> bool) (q : parity_of) : bool :=
  match of_reg q with Some r => xorb (rs r) (of_bit q) | None => of_bit q end.

(* The bytes of b in flight. *)
Fixpoint outstanding (b : barrier) (ls : list load) : nat :=
  match ls with
  | [] => 0
  | l :: ls => (if load_barrier l =? b then left l else 0) + outstanding b ls
  end.

(* The phase is not complete, and its transaction count is the debt and what is in flight; or it is, and nothing is. *)
Definition phase_holds (n : nat) (s : phase_state) (o : nat) (q : bool) (a : nat) (d : Z) (l : bool) : Prop :=
  0 < n /\ count s = n /\ (l = false -> o = 0) /\
  ((Nat.odd (phase s) = q /\ pending s = a /\ tx s = (d + Z.of_nat o)%Z /\
    (a = 0 -> (0 <= d)%Z /\ (0 < d + Z.of_nat o)%Z)) \/
   (a = 0 /\ d = 0%Z /\ Nat.odd (phase s) = negb q /\ pending s = n /\ tx s = 0%Z /\ o = 0)).

Definition registers_hold (st : state) (rs : list (register * bool)) : Prop :=
  forall r v, lookup r rs = Some v -> regs st r = v.

Definition account_holds (st : state) (b : barrier) (acc : option account) : Prop :=
  match acc with
  | Some (Account n q a d l _ _) =>
      phase_holds n (barriers st b) (outstanding b (loads st)) (value (regs st) q) a d l
  | None => count (barriers st b) = 0 /\ outstanding b (loads st) = 0
  end.

Definition accounts_hold (st : state) (acs : list (barrier * option account)) : Prop :=
  forall b acc, lookup b acs = Some acc -> account_holds st b acc.

Definition load_known (l : load) (bs : list barrier) : Prop := left l = 0 \/ In (load_barrier l) bs.

Definition claims_hold (st : state) (cl : list (token * list barrier)) : Prop :=
  forall t bs, lookup t cl = Some bs ->
    forall i, In i (env st t) -> exists l, nth_error (loads st) i = Some l /\ load_known l bs.

Definition knowledge_holds (st : state) (k : knowledge) : Prop :=
  registers_hold st (known_registers k) /\ accounts_hold st (known_accounts k) /\
  claims_hold st (known_claims k).

Definition described (p : code) (cert : certificate) (st : state) : Prop :=
  exists nd blk k k',
    In nd cert /\
    nth_error p (at_block st) = Some blk /\
    run (rest st) k = Some k' /\
    check_edges cert k' (edges blk) (succs nd) = true /\
    knowledge_holds st k.

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

Lemma settle_open s : 0 < pending s \/ tx s <> 0%Z -> settle s = s.
Proof.
  intros H. unfold settle. destruct (Nat.eqb_spec (pending s) 0), (Z.eqb_spec (tx s) 0); cbn; auto. lia.
Qed.

Lemma settle_complete s : pending s = 0 -> tx s = 0%Z -> settle s = Phase (count s) (S (phase s)) (count s) 0.
Proof. intros H H'. unfold settle. now rewrite H, H'. Qed.

Lemma settle_count s : count (settle s) = count s.
Proof. unfold settle. now destruct andb. Qed.

Lemma odd_succ n : Nat.odd (S n) = negb (Nat.odd n).
Proof. rewrite Nat.odd_succ. unfold Nat.odd. now rewrite negb_involutive. Qed.

(* A phase whose last arrival is done is complete once no byte is owed or in flight. *)
Lemma settle_holds n s o q d l :
  0 < n -> count s = n -> (l = false -> o = 0) ->
  Nat.odd (phase s) = q -> pending s = 0 -> tx s = (d + Z.of_nat o)%Z -> (0 <= d)%Z ->
  phase_holds n (settle s) o q 0 d l.
Proof.
  intros Hn Hc Hl Hq Hp Ht Hd. split; [auto|]. rewrite settle_count. repeat split; auto.
  destruct (Z.eq_dec (tx s) 0) as [E|E].
  - right. rewrite settle_complete by auto. cbn [count phase pending tx]. rewrite odd_succ. subst q.
    repeat split; auto; lia.
  - left. rewrite settle_open by auto. repeat split; auto; lia.
Qed.

Lemma complete_holds n s o k q a d l :
  0 < k -> phase_holds n s (k + o) q a d l -> phase_holds n (add_bytes (- Z.of_nat k) s) o q a d l.
Proof.
  intros Hk [Hn (Hc & Hl & [(Hq & Hp & Ht & Ha)|(_ & _ & _ & _ & _ & Ho)])]; [|lia].
  assert (Hl' : l = false -> o = 0) by (intros E; specialize (Hl E); lia).
  unfold add_bytes. destruct a as [|a].
  - destruct Ha as [Hd _]; auto. apply settle_holds; auto; cbn; lia.
  - split; auto. rewrite settle_open by (cbn; lia). cbn. repeat split; auto. left. repeat split; auto; lia.
Qed.

(* Parities. *)

Lemma value_resolve st rs q : registers_hold st rs -> value (regs st) (resolve rs q) = value (regs st) q.
Proof.
  intros Hrs. destruct q as [[r|] v]; unfold resolve; cbn; auto.
  destruct (lookup r rs) eqn:E; auto. cbn. now rewrite (Hrs _ _ E).
Qed.

Lemma same_sound st rs q q' :
  registers_hold st rs -> same rs q q' = true -> value (regs st) q = value (regs st) q'.
Proof.
  intros Hrs. unfold same. rewrite <- (value_resolve _ _ q Hrs), <- (value_resolve _ _ q' Hrs).
  destruct (resolve rs q) as [r v], (resolve rs q') as [r' v']. cbn. rewrite andb_true_iff.
  intros [Hr Hv]. apply eqb_prop in Hv. subst v'.
  destruct r as [r|], r' as [r'|]; cbn in Hr; try discriminate; auto.
  apply Nat.eqb_eq in Hr. now subst.
Qed.

Lemma value_invert rs q : value rs (invert q) = negb (value rs q).
Proof. destruct q as [[r|] v]; cbn; auto. now destruct (rs r), v. Qed.

Lemma value_operand rs o : value rs (operand_parity o) = operand_value rs o.
Proof. destruct o; cbn; auto. apply xorb_false_r. Qed.

(* Steps. *)

Lemma complete_sound st st' k : complete st st' -> knowledge_holds st k -> knowledge_holds st' k.
Proof.
  intros [blk is_ rs bs e before b j n after Hj] (Hrs & Hacs & Hcl). split; [|split]; [exact Hrs|..].
  - intros b' acc Hb'. specialize (Hacs _ _ Hb'). unfold account_holds in *.
    cbn [barriers loads regs] in *. unfold Machine.update.
    rewrite outstanding_app in *. cbn [outstanding load_barrier left] in *. rewrite (Nat.eqb_sym b b') in *.
    destruct (Nat.eqb_spec b' b) as [->|]; auto.
    destruct acc as [[m q a d l f w]|]; [|lia].
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

Lemma accounts_set st acs b acc st' :
  accounts_hold st acs ->
  regs st' = regs st ->
  (forall b', b' <> b -> barriers st' b' = barriers st b' /\
    outstanding b' (loads st') = outstanding b' (loads st)) ->
  account_holds st' b acc ->
  accounts_hold st' (set b acc acs).
Proof.
  intros Hacs Hregs Hother Hb b' acc'. rewrite lookup_set.
  destruct (Nat.eqb_spec b' b) as [->|Hne]; [intros H; injection H as <-; auto|].
  intros H. destruct (Hother b' Hne) as [Hs Ho]. specialize (Hacs _ _ H).
  unfold account_holds in *. now rewrite Hs, Ho, Hregs.
Qed.

Lemma lookup_map_accounts f b acs : lookup b (map_accounts f acs) = option_map (option_map f) (lookup b acs).
Proof. induction acs as [|[u acc] acs IH]; cbn; auto. destruct (Nat.eqb_spec u b); auto. Qed.

Lemma existsb_lookup {A} (f : nat * A -> bool) b l v : existsb f l = false -> lookup b l = Some v -> f (b, v) = false.
Proof.
  intros Hf Hl. apply lookup_in in Hl. destruct (f (b, v)) eqn:E; auto.
  rewrite <- Hf. symmetry. apply existsb_exists. eauto.
Qed.

Lemma value_update rs r v q : reads r q = false -> value (update rs r v) q = value rs q.
Proof. destruct q as [[r'|] w]; cbn; auto. unfold Machine.update. now intros ->. Qed.

Lemma value_flip rs r q :
  value (update rs r (negb (rs r))) (if reads r q then invert q else q) = value rs q.
Proof.
  destruct (reads r q) eqn:E; [|now apply value_update].
  destruct q as [[r'|] v]; cbn in *; [|discriminate]. apply Nat.eqb_eq in E. subst.
  unfold Machine.update. rewrite Nat.eqb_refl. now destruct (rs r), v.
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

Lemma run_sound i st st' k k' :
  run_instr i st st' -> knowledge_holds st k -> run_knowledge i k = Some k' -> knowledge_holds st' k'.
Proof.
  destruct k as [ks acs cl]. intros Hrun (Hrs & Hacs & Hcl) Hk.
  cbn [known_registers known_accounts known_claims] in *.
  destruct Hrun as [b n blk is_ rs bs ls e|b blk is_ rs bs ls e
    |b t n blk is_ rs bs ls e|b n blk is_ rs bs ls e|b blk is_ rs bs ls e|b o blk is_ rs bs ls e Hodd
    |blk is_ rs bs ls e|b blk is_ rs bs ls e
    |r v blk is_ rs bs ls e|r blk is_ rs bs ls e|ts blk is_ rs bs ls e|t ts blk is_ rs bs ls e]; cbn in Hk.
  - (* Init *)
    destruct (lookup b acs) as [[|]|] eqn:E; try discriminate.
    destruct (Nat.eqb_spec n 0) as [|Hn]; [discriminate|]. injection Hk as <-.
    destruct (Hacs _ _ E) as [_ Ho]. cbn in Ho. split; [exact Hrs|split; [|exact Hcl]].
    apply accounts_set with (1 := Hacs); cbn; unfold Machine.update; auto.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl, Ho. cbn. repeat split; auto; [lia|]. left. repeat split; auto; lia.
  - (* Inval *)
    destruct (lookup b acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate.
    destruct l; [discriminate|]. destruct w; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as (_ & _ & Ho & _). cbn in Ho. split; [exact Hrs|split; [|exact Hcl]].
    apply accounts_set with (1 := Hacs); cbn; unfold Machine.update; auto.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl. auto.
  - (* Load *)
    destruct (lookup b acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate.
    destruct ((a =? 0) && (d <? Z.of_nat n)%Z) eqn:Hlate; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; [exact Hrs|split].
    + apply accounts_set with (1 := Hacs); cbn; auto.
      * intros b' Hne. rewrite outstanding_app. cbn.
        destruct (Nat.eqb_spec b b'); [congruence|]. split; auto; lia.
      * rewrite outstanding_app. cbn. rewrite Nat.eqb_refl.
        cbn in Hb. destruct Hb as [Hn (Hc & _ & [(Hq & Hp & Ht & Ha)|(-> & -> & Hq & Hp & Ht & Ho)])];
          (split; [exact Hn|split; [exact Hc|split; [discriminate|]]]).
        -- left. repeat split; auto; [lia|..]; intros; destruct Ha as [Hd Hd']; auto; subst a;
             rewrite H in Hlate; cbn in Hlate; apply Z.ltb_ge in Hlate; lia.
        -- right. cbn in Hlate. apply Z.ltb_ge in Hlate. repeat split; auto; lia.
    + intros t' L. cbn [known_claims]. rewrite lookup_set. cbn [env loads]. unfold Machine.update.
      destruct (t' =? t).
      * intros H; injection H as <-. intros i [<-|[]].
        rewrite nth_error_app2, Nat.sub_diag by lia. eexists; split; [reflexivity|]. right; cbn; auto.
      * intros H i Hi. destruct (Hcl _ _ H i Hi) as [l0 [Hl Hkn]]. exists l0. split; auto.
        cbn in *. rewrite nth_error_app1; auto. apply nth_error_Some. congruence.
  - (* Expect *)
    destruct (lookup b acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate.
    destruct (Nat.eqb_spec a 0) as [|Hne]; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; [exact Hrs|split; [|exact Hcl]].
    apply accounts_set with (1 := Hacs); cbn; unfold Machine.update; auto.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl. cbn in Hb. destruct Hb as [Hn (Hc & Hl & [(Hq & Hp & Ht & Ha)|(-> & _)])]; [|lia].
      unfold add_bytes. rewrite settle_open by (cbn; lia).
      split; [exact Hn|split; [exact Hc|split; [exact Hl|]]]. left. cbn. repeat split; auto; lia.
  - (* Arrive *)
    destruct (lookup b acs) as [[[m q [|a] d l f w]|]|] eqn:E; try discriminate.
    destruct ((a =? 0) && ((d <? 0)%Z || w)) eqn:Hlast; [discriminate|]. injection Hk as <-.
    pose proof (Hacs _ _ E) as Hb. split; [exact Hrs|split; [|exact Hcl]].
    apply accounts_set with (1 := Hacs); cbn [barriers loads regs account_holds]; unfold Machine.update; auto.
    + intros b' Hb'. destruct (Nat.eqb_spec b' b); [congruence|auto].
    + rewrite Nat.eqb_refl. cbn in Hb. destruct Hb as [Hn (Hc & Hl & [(Hq & Hp & Ht & Ha)|(H & _)])]; [|lia].
      unfold arrive. rewrite Hp. cbn [pred]. destruct a as [|a].
      * cbn in Hlast. apply orb_false_iff in Hlast as [Hlast _]. apply Z.ltb_ge in Hlast. apply settle_holds; auto.
      * rewrite settle_open by (cbn; lia). split; [exact Hn|split; [exact Hc|split; [exact Hl|]]].
        left. cbn. repeat split; auto; lia.
  - (* TryWait *)
    destruct (lookup b acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate. pose proof (Hacs _ _ E) as Hb.
    destruct f; [discriminate|]. destruct (Nat.eqb_spec a 0) as [->|].
    + destruct (same ks q (operand_parity o) && (d =? 0)%Z) eqn:Hq'; [|discriminate]. injection Hk as <-.
      apply andb_true_iff in Hq' as [Hq' Hd]. apply (same_sound _ _ _ _ Hrs) in Hq'. cbn in Hq'.
      rewrite value_operand in Hq'. apply Z.eqb_eq in Hd. subst d.
      cbn in Hb. destruct Hb as [Hn (Hc & _ & [(Hq & _)|(_ & _ & Hq & Hp & Ht & Ho)])]; [congruence|].
      split; [exact Hrs|split].
      * apply accounts_set with (1 := Hacs); cbn; auto.
        split; [exact Hn|split; [exact Hc|split; [auto|]]]. left. rewrite Ho, value_invert.
        repeat split; auto; lia.
      * intros t L. cbn [known_claims]. rewrite lookup_drop.
        destruct (lookup t cl) as [L0|] eqn:Et; [|discriminate].
        cbn. intros H; injection H as <-. intros i Hi.
        destruct (Hcl _ _ Et i Hi) as [l0 [Hl0 Hkn]]. exists l0. split; auto. cbn in Hl0.
        destruct Hkn as [Hkn|Hkn]; [now left|].
        destruct (Nat.eq_dec (load_barrier l0) b) as [Hlb|Hlb].
        -- left. eapply outstanding_zero; eauto. eapply nth_error_In; eauto.
        -- right. apply filter_In. split; auto. apply negb_true_iff. now apply Nat.eqb_neq.
    + destruct same; [|discriminate]. injection Hk as <-. split; [exact Hrs|split; [|exact Hcl]].
      apply accounts_set with (1 := Hacs); auto.
  - (* Sync *)
    injection Hk as <-. split; [exact Hrs|split; [|exact Hcl]].
    intros b acc. cbn [known_accounts]. rewrite lookup_map_accounts.
    destruct (lookup b acs) as [acc0|] eqn:E; [|discriminate]. specialize (Hacs _ _ E).
    cbn. intros H; injection H as <-. destruct acc0 as [[m q a d l f w]|]; exact Hacs.
  - (* Idle *)
    destruct (lookup b acs) as [acc|]; [|discriminate]. destruct (may_be_loaded acc); [discriminate|].
    injection Hk as <-. exact (conj Hrs (conj Hacs Hcl)).
  - (* SetReg *)
    destruct existsb eqn:Hreads; [discriminate|]. injection Hk as <-. split; [|split; [|exact Hcl]].
    + intros r' v'. cbn [known_registers regs]. rewrite lookup_set. unfold Machine.update.
      destruct (r' =? r); [intros H; now injection H|apply Hrs].
    + intros b acc Hb. specialize (Hacs _ _ Hb). destruct acc as [[m q a d l f w]|]; [|exact Hacs].
      cbn in *. rewrite value_update; [exact Hacs|].
      exact (existsb_lookup _ _ _ _ Hreads Hb).
  - (* FlipReg *)
    injection Hk as <-. split; [|split; [|exact Hcl]].
    + intros r' v'. cbn [known_registers regs]. unfold Machine.update.
      destruct (lookup r ks) as [v|] eqn:E; rewrite ?lookup_set; destruct (Nat.eqb_spec r' r) as [->|]; try apply Hrs.
      * intros H; injection H as <-. f_equal. now apply Hrs.
      * congruence.
    + intros b acc. cbn [known_accounts]. rewrite lookup_map_accounts.
      destruct (lookup b acs) as [acc0|] eqn:E; [|discriminate]. specialize (Hacs _ _ E).
      cbn. intros H; injection H as <-. destruct acc0 as [[m q a d l f w]|]; [|exact Hacs].
      cbn in *. now rewrite value_flip.
  - (* Await *)
    destruct (forallb (landed cl) ts); [|discriminate]. injection Hk as <-. exact (conj Hrs (conj Hacs Hcl)).
  - (* Join *)
    injection Hk as <-. split; [exact Hrs|split; [exact Hacs|]].
    intros t' L. cbn [known_claims env loads]. unfold Machine.update.
    destruct (join cl ts) as [L0|] eqn:E; rewrite ?lookup_set, ?lookup_remove; destruct (t' =? t);
      try (now apply Hcl); [|discriminate].
    intros H; injection H as <-. now apply (join_sound _ _ _ _ Hcl E).
Qed.

(* Nodes. *)

Lemma check_edges_in cert k eds ss ed :
  check_edges cert k eds ss = true -> In ed eds -> exists s, check_edge cert k ed s = true.
Proof.
  revert ss. induction eds as [|ed' eds IH]; intros [|s ss]; cbn; try discriminate; [intros _ []|].
  rewrite andb_true_iff. intros [Hb Heds] [->|H]; [now exists s|now apply IH with ss].
Qed.

Lemma node_described p cert nd st blk :
  In nd cert -> check_node p cert nd = true ->
  node_block nd = at_block st -> nth_error p (at_block st) = Some blk -> rest st = instrs blk ->
  knowledge_holds st (Known (registers nd) (accounts nd) (claims nd)) -> described p cert st.
Proof.
  intros Hin Hnd Hb Hblk Hrest Hk. unfold check_node in Hnd. rewrite Hb, Hblk in Hnd.
  destruct (run (instrs blk) (Known (registers nd) (accounts nd) (claims nd))) as [k'|] eqn:E; [|discriminate].
  eexists nd, blk, _, k'. rewrite Hrest. eauto.
Qed.

Lemma initial_described p cert st : check p cert = true -> initial p st -> described p cert st.
Proof.
  destruct cert as [|entry cert]; [discriminate|]. unfold check, is_entry.
  rewrite !andb_true_iff. intros [[[Hb Hacs] Hcl] Hall] (Hat & (blk & Hblk & Hrest) & Hbars & Hloads).
  apply Nat.eqb_eq in Hb. rewrite forallb_forall in Hall, Hacs.
  assert (Hin : In entry (entry :: cert)) by (cbn; auto).
  apply node_described with (nd := entry) (blk := blk); auto; [congruence|now rewrite Hat|].
  destruct (registers entry); [|discriminate]. destruct (claims entry); [|discriminate].
  split; [|split]; [intros r v; discriminate| |intros t bs; discriminate].
  intros b acc H. specialize (Hacs _ (lookup_in _ _ _ H)). cbn in Hacs. destruct acc; [discriminate|].
  cbn. now rewrite Hloads.
Qed.

Lemma bound_sound st cl bs t L :
  claims_hold st cl -> bound cl bs t = Some L ->
  forall i, In i (bind (env st) bs t) -> exists l, nth_error (loads st) i = Some l /\ load_known l L.
Proof.
  unfold bound, bind. intros Hcl. destruct (lookup t bs); [apply join_sound with (1 := Hcl)|apply Hcl].
Qed.

Lemma edge_sound st st' k nd bs :
  regs st' = regs st -> barriers st' = barriers st -> loads st' = loads st -> env st' = bind (env st) bs ->
  forallb (register_follows (known_registers k)) (registers nd) = true ->
  forallb (account_follows k) (accounts nd) = true ->
  forallb (claim_follows (known_claims k) bs) (claims nd) = true ->
  knowledge_holds st k -> knowledge_holds st' (Known (registers nd) (accounts nd) (claims nd)).
Proof.
  intros Hregs Hbars Hloads Henv Hr Ha Hc (Hrs & Hacs & Hcl). rewrite forallb_forall in Hr, Ha, Hc.
  split; [|split].
  - intros r v H. specialize (Hr _ (lookup_in _ _ _ H)). unfold register_follows in Hr; cbn in Hr.
    destruct (lookup r (known_registers k)) as [v'|] eqn:E; [|discriminate].
    apply eqb_prop in Hr. subst. rewrite Hregs. now apply Hrs.
  - intros b acc H. specialize (Ha _ (lookup_in _ _ _ H)). unfold account_follows in Ha; cbn in Ha.
    destruct (lookup b (known_accounts k)) as [acc0|] eqn:E; [|discriminate]. specialize (Hacs _ _ E).
    destruct acc0 as [[m0 q0 a0 d0 l0 f0 w0]|], acc as [[m q a d l f w]|]; try discriminate.
    + cbn in Ha. rewrite !andb_true_iff in Ha. destruct Ha as [[[[[[Hm Hq] Hn] Hd] Hl] _] _].
      apply (same_sound _ _ _ _ Hrs) in Hq. apply Nat.eqb_eq in Hm, Hn. apply Z.eqb_eq in Hd. apply eqb_prop in Hl.
      subst. cbn in *. now rewrite Hregs, Hbars, Hloads, <- Hq.
    + cbn in *. now rewrite Hbars, Hloads.
  - intros t L H. specialize (Hc _ (lookup_in _ _ _ H)). unfold claim_follows in Hc; cbn in Hc.
    destruct (bound (known_claims k) bs t) as [L0|] eqn:E; [|discriminate].
    rewrite forallb_forall in Hc. rewrite Henv, Hloads. intros i Hi.
    destruct (bound_sound _ _ _ _ _ Hcl E i Hi) as [l [Hl [Hk|Hk]]]; exists l; split; auto; [now left|]. right.
    specialize (Hc _ Hk). apply existsb_exists in Hc as [b [Hb Heq]]. apply Nat.eqb_eq in Heq. now subst.
Qed.

Lemma step_described p cert st st' :
  check p cert = true -> described p cert st -> step p st st' -> described p cert st'.
Proof.
  intros Hcheck (nd & blk & k & k' & Hin & Hblk & Hrun & Hedges & Hk) Hstep.
  destruct Hstep as [st st' Hc|i st st' Hi|st st' He].
  - exists nd, blk, k, k'. pose proof (complete_sound _ _ _ Hc Hk). destruct Hc; cbn in *. auto 10.
  - assert (Hrun' : exists k1, run_knowledge i k = Some k1 /\ run (rest st') k1 = Some k').
    { destruct Hi; cbn [rest run] in *; destruct run_knowledge; try discriminate; eauto. }
    destruct Hrun' as [k1 [Hk1 Hr1]]. exists nd, blk, k1, k'.
    pose proof (run_sound _ _ _ _ _ Hi Hk Hk1). destruct Hi; cbn in *; auto 10.
  - destruct He as [b blk0 ed blk' rs bs ls e Hblk0 He Hblk']. cbn in *.
    assert (blk0 = blk) by congruence. subst blk0. injection Hrun as <-.
    destruct (check_edges_in _ _ _ _ _ Hedges He) as [s Hs]. unfold check_edge in Hs.
    destruct (nth_error cert s) as [nd'|] eqn:Es; [|discriminate].
    rewrite !andb_true_iff in Hs. destruct Hs as [[[Hb' Hr] Ha] Hc]. apply Nat.eqb_eq in Hb'.
    apply nth_error_In in Es. destruct cert as [|entry cert]; [discriminate|].
    unfold check in Hcheck. apply andb_true_iff in Hcheck as [_ Hall]. rewrite forallb_forall in Hall.
    apply node_described with (nd := nd') (blk := blk'); auto.
    eapply edge_sound with (8 := Hk); cbn; eauto.
Qed.

Lemma reachable_described p cert st : check p cert = true -> reachable p st -> described p cert st.
Proof. induction 2; eauto using initial_described, step_described. Qed.

(* What is known where an instruction is next. *)
Lemma next_known p cert st i is_ :
  check p cert = true -> reachable p st -> rest st = i :: is_ ->
  exists k k', run_knowledge i k = Some k' /\ knowledge_holds st k.
Proof.
  intros Hcheck Hst Hrest.
  destruct (reachable_described _ _ _ Hcheck Hst) as (nd & blk & k & k' & _ & _ & Hrun & _ & Hk).
  rewrite Hrest in Hrun. cbn in Hrun. destruct run_knowledge as [k1|] eqn:E; [eauto|discriminate].
Qed.

(* The theorems. *)

Theorem check_uses p cert : check p cert = true -> barriers_are_initialized p.
Proof.
  intros Hcheck st i is_ b Hst Hrest Hi.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & _ & Hacs & _). cbn in Hacs.
  assert (Hb : exists acc, lookup b acs = Some (Some acc)).
  { destruct i; cbn in Hi; try contradiction; subst; cbn in Hrun;
      (destruct (lookup b acs) as [[acc|]|]; try discriminate; eauto). }
  destruct Hb as [[n q a d l f w] Hb]. destruct (Hacs _ _ Hb) as (Hn & Hc & _). lia.
Qed.

Theorem check_inits p cert : check p cert = true -> inits_are_first p.
Proof.
  intros Hcheck st b n is_ Hst Hrest.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & _ & Hacs & _). cbn in Hrun, Hacs.
  destruct (lookup b acs) as [[|]|] eqn:E; try discriminate. now destruct (Hacs _ _ E).
Qed.

Theorem check_ends p cert : check p cert = true -> ends_are_idle p.
Proof.
  intros Hcheck st i is_ b l Hst Hrest Hi Hin Hl.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & _ & Hacs & _). cbn in Hacs.
  assert (Ho : exists acc, lookup b acs = Some acc /\ may_be_loaded acc = false).
  { destruct i as [b0 n0|b0| | | | | |b0| | | |]; cbn in Hi; try contradiction; subst b0; cbn in Hrun;
      (destruct (lookup b acs) as [[[n q a d [|] f w]|]|]; try discriminate; eauto). }
  destruct Ho as (acc & Hb & Hloaded). apply outstanding_zero with (b := b) (ls := loads st); auto.
  destruct acc as [[n q a d l0 f w]|]; destruct (Hacs _ _ Hb) as [_ Ho]; auto. destruct Ho as (_ & Ho & _). auto.
Qed.

Theorem check_awaits p cert : check p cert = true -> awaits_are_safe p.
Proof.
  intros Hcheck st ts is_ t i Hst Hrest Ht Hi.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & _ & _ & Hcl). cbn in Hrun, Hcl.
  destruct (forallb (landed cl) ts) eqn:E; [|discriminate].
  rewrite forallb_forall in E. specialize (E _ Ht). unfold landed in E.
  destruct (lookup t cl) as [[|]|] eqn:El; try discriminate.
  destruct (Hcl _ _ El _ Hi) as [l [Hl [H|[]]]]. exists l; auto.
Qed.

Theorem check_arrivals p cert : check p cert = true -> arrivals_are_pending p.
Proof.
  intros Hcheck st b is_ Hst Hrest.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & _ & Hacs & _). cbn in Hrun, Hacs.
  destruct (lookup b acs) as [[[n q [|a] d l f w]|]|] eqn:E; try discriminate.
  destruct (Hacs _ _ E) as (_ & _ & _ & [(_ & Hp & _)|(H & _)]); lia.
Qed.

(* The bytes in flight may complete, and then the phase is complete. *)
Lemma wait_ends n b o l m st is_ :
  outstanding b (loads st) <= m -> rest st = TryWait b o :: is_ ->
  phase_holds n (barriers st b) (outstanding b (loads st)) (operand_value (regs st) o) 0 0 l ->
  exists st' st'', clos_refl_trans _ complete st st' /\ run_instr (TryWait b o) st' st''.
Proof.
  revert st. induction m as [|m IH]; intros st Hm Hrest Hb.
  all: destruct (Hb) as (Hn & _ & _ & [(Hq & Hp & Ht & Ha)|(_ & _ & Hq & _)]);
    [|exists st; destruct st as [blk is_' rs bs ls e]; cbn in *; subst is_'; eexists;
      split; [apply rt_refl|]; constructor; rewrite Hq; now destruct operand_value].
  - destruct Ha; auto; lia.
  - destruct (outstanding_some b (loads st)) as (before & j & after & Hls); [destruct Ha; auto; lia|].
    destruct st as [blk is_' rs bs ls e]; cbn in *. subst is_' ls.
    pose proof (Complete blk (TryWait b o :: is_) rs bs e before b (S j) 0 after (Nat.lt_0_succ j)) as Hc.
    rewrite Nat.add_0_r in Hc. rewrite outstanding_app in *. cbn in Hm, Hb. rewrite Nat.eqb_refl in *.
    edestruct IH as (st' & st'' & Hst' & Hst''); [..|exists st', st''; split; [|exact Hst'']].
    4: { eapply rt_trans; [apply rt_step; exact Hc|exact Hst']. }
    + cbn. rewrite outstanding_app. cbn. rewrite Nat.eqb_refl. lia.
    + reflexivity.
    + cbn [barriers loads regs]. unfold Machine.update. rewrite Nat.eqb_refl, outstanding_app. cbn [outstanding].
      cbn [load_barrier left]. rewrite Nat.eqb_refl. apply complete_holds; [lia|].
      replace (S j + (outstanding b before + (0 + outstanding b after)))
        with (outstanding b before + S (j + outstanding b after)) by lia. exact Hb.
Qed.

Theorem check_waits p cert : check p cert = true -> waits_end p.
Proof.
  intros Hcheck st b o is_ Hst Hrest.
  destruct (next_known _ _ _ _ _ Hcheck Hst Hrest) as ([ks acs cl] & k' & Hrun & Hrs & Hacs & _).
  cbn in Hrun, Hrs, Hacs.
  destruct (lookup b acs) as [[[n q a d l f w]|]|] eqn:E; try discriminate.
  pose proof (Hacs _ _ E) as Hb. cbn in Hb. destruct f; [discriminate|].
  destruct (Nat.eqb_spec a 0) as [->|Hne].
  - destruct (same ks q (operand_parity o) && (d =? 0)%Z) eqn:Hq; [|discriminate].
    apply andb_true_iff in Hq as [Hq Hd]. apply (same_sound _ _ _ _ Hrs) in Hq. apply Z.eqb_eq in Hd. subst.
    rewrite Hq, value_operand in Hb. eapply wait_ends; eauto.
  - destruct same eqn:Hq; [|discriminate]. apply (same_sound _ _ _ _ Hrs) in Hq.
    rewrite value_invert, value_operand in Hq.
    destruct Hb as (_ & _ & _ & [(Hodd & _)|(H & _)]); [|lia].
    exists st. destruct st as [blk' r rs bs ls e]; cbn in *. subst r. eexists. split; [apply rt_refl|].
    constructor. rewrite Hodd, <- Hq. now destruct value.
Qed.
