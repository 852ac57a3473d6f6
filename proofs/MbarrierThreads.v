(* Several threads that execute the same. The first one issues loads, arrives, and initializes barriers; the others wait. Each is as
   fast or slow as it likes, but for waits and for barriers of all threads (Sync).

   The checker for one thread is sound for all of them: none awaits a load in flight, and they don't end up all waiting. *)

From Coq Require Import List Arith ZArith Bool Lia Relations.
From AsyncOpt Require Import Machine Checker Soundness.
From AsyncOpt Require Import Mbarrier MbarrierChecker MbarrierSoundness.
Import ListNotations.

(* A way through code, which all threads take. *)

Inductive event := Do (i : instr) | Take (ed : edge).

Inductive way (p : code) : nat -> list instr -> list event -> Prop :=
  | WayEnd b is_ : way p b is_ []
  | WayDo b i is_ evs : way p b is_ evs -> way p b (i :: is_) (Do i :: evs)
  | WayTake b blk ed blk' evs :
      nth_error p b = Some blk -> In ed (edges blk) -> nth_error p (target ed) = Some blk' ->
      way p (target ed) (instrs blk') evs -> way p b [] (Take ed :: evs).

(* What a thread knows by itself at a place of the way. Tokens name loads by number. *)
Record local := Local {
  local_regs : register -> bool;
  local_env : token -> list nat;
  issued : list (barrier * nat) }. (* the loads before, and their bytes *)

Definition pass (ev : event) (v : local) : local :=
  let (rs, e, ls) := v in
  match ev with
  | Do (Load b t n) => Local rs (update e t [length ls]) (ls ++ [(b, n)])
  | Do (SetReg r x) => Local (update rs r x) e ls
  | Do (FlipReg r) => Local (update rs r (negb (rs r))) e ls
  | Do (Join t ts) => Local rs (update e t (flat_map e ts)) ls
  | Take ed => Local rs (bind e (binds ed)) ls
  | _ => v
  end.

(* Threads, by how many events of the way each has behind it. *)
Record threads := Threads {
  first : nat;
  others : list nat;
  shared : barrier -> phase_state;
  flying : list load }.

Section Way.
Context (tr : list event) (rs0 : register -> bool) (e0 : token -> list nat).

Definition place (n : nat) : local := fold_left (fun v ev => pass ev v) (firstn n tr) (Local rs0 e0 []).

Definition seen (v : local) (is_ : list instr) (bs : barrier -> phase_state) (ls : list load) : state :=
  State 0 is_ (local_regs v) bs ls (local_env v).

(* Nobody passes a barrier of all threads before everybody has come to it. *)
Definition all_at (n j : nat) (fs : list nat) : Prop := n <= j /\ Forall (fun f => n <= f) fs.

Definition may_pass (ev : event) (n j : nat) (fs : list nat) (bs : barrier -> phase_state) : Prop :=
  match ev with
  | Do (TryWait b o) => Nat.odd (phase (bs b)) <> operand_value (local_regs (place n)) o
  | Do Sync => all_at n j fs
  | _ => True
  end.

Inductive move : threads -> threads -> Prop :=
  | MoveFirst j fs bs ls i st :
      nth_error tr j = Some (Do i) ->
      may_pass (Do i) j j fs bs ->
      run_instr i (seen (place j) [i] bs ls) st ->
      move (Threads j fs bs ls) (Threads (S j) fs (barriers st) (loads st))
  | MoveFirstEdge j fs bs ls ed :
      nth_error tr j = Some (Take ed) -> move (Threads j fs bs ls) (Threads (S j) fs bs ls)
  | MoveOther j before f after bs ls ev :
      nth_error tr f = Some ev ->
      may_pass ev f j (before ++ f :: after) bs ->
      move (Threads j (before ++ f :: after) bs ls) (Threads j (before ++ S f :: after) bs ls).

Inductive land : threads -> threads -> Prop :=
  | Land j fs bs ls is_ st :
      complete (seen (place j) is_ bs ls) st -> land (Threads j fs bs ls) (Threads j fs (barriers st) (loads st)).

Inductive reach : threads -> Prop :=
  | ReachBegin fs bs :
      Forall (fun f => f = 0) fs -> (forall b, count (bs b) = 0) -> reach (Threads 0 fs bs [])
  | ReachMove s s' : reach s -> move s s' -> reach s'
  | ReachLand s s' : reach s -> land s s' -> reach s'.

(* The load of this number, of n bytes, has landed. *)
Definition landed_all (ls : list load) (c n : nat) : Prop :=
  n = 0 \/ exists l, nth_error ls c = Some l /\ left l = 0.

(* What code must not do. *)

Definition threads_await_safely : Prop :=
  forall s x ts t c, reach s -> In x (first s :: others s) -> nth_error tr x = Some (Do (Await ts)) ->
    In t ts -> In c (local_env (place x) t) ->
    exists b n, nth_error (issued (place x)) c = Some (b, n) /\ landed_all (flying s) c n.

(* While a thread is not at the end of the way, some thread moves once enough of the loads in flight have landed. *)
Definition threads_move_on : Prop :=
  forall s, reach s -> (exists x, In x (first s :: others s) /\ x < length tr) ->
    exists s' s'', clos_refl_trans _ land s s' /\ move s' s''.

(* Places. *)

Lemma place_next n ev : nth_error tr n = Some ev -> place (S n) = pass ev (place n).
Proof.
  intros H. unfold place.
  replace (firstn (S n) tr) with (firstn n tr ++ [ev]); [now rewrite fold_left_app|].
  revert n H. induction tr as [|ev' evs IH]; intros [|n] H; cbn in *; try discriminate.
  - now injection H as ->.
  - f_equal. now apply IH.
Qed.

Lemma issued_next n ev : nth_error tr n = Some ev ->
  issued (place (S n)) = issued (place n) ++ match ev with Do (Load b _ m) => [(b, m)] | _ => [] end.
Proof.
  intros H. rewrite (place_next _ _ H). destruct (place n) as [rs e ls]. now destruct ev as [[]|]; cbn; rewrite ?app_nil_r.
Qed.

(* What is known at each place. *)

Definition follows (ev : event) (k k' : knowledge) : Prop :=
  match ev with
  | Do i => run_knowledge i k = Some k'
  | Take ed =>
      forallb (register_follows (known_registers k)) (known_registers k') = true /\
      forallb (account_follows k) (known_accounts k') = true /\
      forallb (claim_follows (known_claims k) (binds ed)) (known_claims k') = true
  end.

Context (know : nat -> knowledge).
Context (Hknow : forall n ev, nth_error tr n = Some ev -> follows ev (know n) (know (S n))).
Context (Hbegin : known_registers (know 0) = [] /\ known_claims (know 0) = [] /\
  forall b acc, lookup b (known_accounts (know 0)) = Some acc -> acc = None).

Definition account_of (b : barrier) (n : nat) : option (option account) := lookup b (known_accounts (know n)).

Definition registers_known (n : nat) : Prop :=
  forall r v, lookup r (known_registers (know n)) = Some v -> local_regs (place n) r = v.

Lemma registers_next n ev : nth_error tr n = Some ev -> registers_known n -> registers_known (S n).
Proof.
  intros Hev H. unfold registers_known in *. rewrite (place_next _ _ Hev). specialize (Hknow _ _ Hev).
  destruct (know n) as [ks acs cl], (know (S n)) as [ks' acs' cl']. destruct (place n) as [rs e ls].
  cbn [known_registers local_regs] in *. destruct ev as [i|ed].
  - cbn in Hknow. destruct i as [b m|b|b t m|b m|b|b o| |b|r0 v0|r0|ts|t ts]; cbn [pass local_regs].
    9: { destruct existsb; [discriminate|]. injection Hknow as <- _ _. intros r v. rewrite lookup_set. unfold Machine.update.
         destruct (r =? r0); [intros E; now injection E|apply H]. }
    9: { injection Hknow as <- _ _. intros r v. unfold Machine.update.
         destruct (lookup r0 ks) as [v0|] eqn:E; rewrite ?lookup_set; destruct (Nat.eqb_spec r r0) as [->|]; try apply H.
         - intros E'; injection E' as <-. f_equal. now apply H.
         - congruence. }
    all: repeat match type of Hknow with
      | context [match ?x with _ => _ end] => destruct x; try discriminate
      end; injection Hknow as <- _ _; exact H.
  - destruct Hknow as (Hr & _). cbn [pass local_regs]. intros r v Hl. rewrite forallb_forall in Hr.
    specialize (Hr _ (lookup_in _ _ _ Hl)). unfold register_follows in Hr. cbn in Hr.
    destruct (lookup r ks) as [v'|] eqn:E; [|discriminate]. apply eqb_prop in Hr. subst. now apply H.
Qed.

Lemma registers_at n : n <= length tr -> registers_known n.
Proof.
  induction n as [|n IH]; intros Hn.
  - unfold registers_known. destruct Hbegin as (-> & _). intros r v; discriminate.
  - destruct (nth_error tr n) as [ev|] eqn:E.
    + apply registers_next with (1 := E). apply IH. lia.
    + apply nth_error_None in E. lia.
Qed.

(* Returns true if the phase of b is complete for those who are past n, and was not before. *)
Definition advances (b : barrier) (n : nat) : bool :=
  match nth_error tr n with
  | Some (Do (TryWait b' _)) =>
      (b' =? b) && match account_of b n with Some (Some acc) => arrivals acc =? 0 | _ => false end
  | _ => false
  end.

Fixpoint phases (b : barrier) (n : nat) : nat :=
  match n with
  | 0 => 0
  | S n => (if advances b n then 1 else 0) + phases b n
  end.

Lemma phases_grow b n m : n <= m -> phases b n <= phases b m.
Proof. induction 1; cbn; lia. Qed.

(* The parity of an account, with those of registers. *)
Definition parity_at (n : nat) (acc : account) : bool := value (local_regs (place n)) (parity acc).

Lemma parity_next b n ev acc' :
  nth_error tr n = Some ev -> account_of b (S n) = Some (Some acc') -> (forall m, ev <> Do (Init b m)) ->
  exists acc, account_of b n = Some (Some acc) /\ parity_at (S n) acc' = xorb (parity_at n acc) (advances b n).
Proof.
  intros Hev Hacc Hinit. assert (Hlen : n < length tr) by (apply nth_error_Some; congruence).
  pose proof (registers_at n (Nat.lt_le_incl _ _ Hlen)) as Hrs. unfold registers_known in Hrs.
  unfold parity_at, advances, account_of in *. rewrite Hev, (place_next _ _ Hev). specialize (Hknow _ _ Hev).
  destruct (know n) as [ks acs cl], (know (S n)) as [ks' acs' cl']. destruct (place n) as [rs e ls].
  cbn [known_accounts known_registers local_regs] in *. destruct ev as [i|ed].
  - cbn in Hknow. destruct i as [b0 m|b0|b0 t m|b0 m|b0|b0 o| |b0|r0 v0|r0|ts|t ts]; cbn [pass local_regs].
    + (* Init *)
      destruct (Nat.eqb_spec b0 b) as [->|Hne]; [now destruct (Hinit m)|].
      destruct (lookup b0 acs) as [[|]|]; try discriminate. destruct (m =? 0); [discriminate|].
      injection Hknow as _ <- _. rewrite lookup_set in Hacc. destruct (Nat.eqb_spec b b0); [congruence|].
      exists acc'. now rewrite xorb_false_r.
    + (* Inval *)
      destruct (lookup b0 acs) as [[[? ? ? ? [|] ? [|]]|]|]; try discriminate.
      injection Hknow as _ <- _. rewrite lookup_set in Hacc. destruct (b =? b0); [discriminate|].
      exists acc'. now rewrite xorb_false_r.
    + (* Load *)
      destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
      destruct ((a =? 0) && _); [discriminate|]. injection Hknow as _ <- _. rewrite lookup_set in Hacc.
      destruct (Nat.eqb_spec b b0) as [->|]; [injection Hacc as <-|]; eexists; (split; [eassumption|]);
        cbn; now rewrite xorb_false_r.
    + (* Expect *)
      destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
      destruct (a =? 0); [discriminate|]. injection Hknow as _ <- _. rewrite lookup_set in Hacc.
      destruct (Nat.eqb_spec b b0) as [->|]; [injection Hacc as <-|]; eexists; (split; [eassumption|]);
        cbn; now rewrite xorb_false_r.
    + (* Arrive *)
      destruct (lookup b0 acs) as [[[c q [|a] d l f w]|]|] eqn:E; try discriminate.
      destruct ((a =? 0) && _); [discriminate|]. injection Hknow as _ <- _. rewrite lookup_set in Hacc.
      destruct (Nat.eqb_spec b b0) as [->|]; [injection Hacc as <-|]; eexists; (split; [eassumption|]);
        cbn; now rewrite xorb_false_r.
    + (* TryWait *)
      destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
      destruct f; [discriminate|].
      destruct (Nat.eqb_spec b0 b) as [->|Hne].
      * exists (Account c q a d l false w). split; [assumption|]. rewrite E. cbn [arrivals parity].
        destruct (a =? 0).
        -- destruct (same _ _ _ && _); [|discriminate]. injection Hknow as _ <- _. rewrite lookup_set, Nat.eqb_refl in Hacc.
           injection Hacc as <-. cbn. rewrite value_invert. now destruct (value rs q).
        -- destruct same; [|discriminate]. injection Hknow as _ <- _. rewrite lookup_set, Nat.eqb_refl in Hacc.
           injection Hacc as <-. cbn. now destruct (value rs q).
      * exists acc'. cbn [andb]. rewrite xorb_false_r. split; [|reflexivity].
        destruct (a =? 0); [destruct (same _ _ _ && _)|destruct same]; try discriminate;
          injection Hknow as _ <- _; rewrite lookup_set in Hacc; destruct (Nat.eqb_spec b b0); congruence.
    + (* Sync *)
      injection Hknow as _ <- _. rewrite lookup_map_accounts in Hacc.
      destruct (lookup b acs) as [[[c q a d l f w]|]|]; try discriminate. injection Hacc as <-.
      eexists; split; [reflexivity|]. cbn. now rewrite xorb_false_r.
    + (* Idle *)
      destruct (lookup b0 acs); [|discriminate]. destruct (may_be_loaded _); [discriminate|]. injection Hknow as _ <- _.
      exists acc'. now rewrite xorb_false_r.
    + (* SetReg *)
      destruct existsb eqn:Hreads; [discriminate|]. injection Hknow as _ <- _. exists acc'. rewrite xorb_false_r.
      split; [assumption|]. apply value_update. exact (existsb_lookup _ _ _ _ Hreads Hacc).
    + (* FlipReg *)
      injection Hknow as _ <- _. rewrite lookup_map_accounts in Hacc.
      destruct (lookup b acs) as [[[c q a d l f w]|]|]; try discriminate. injection Hacc as <-.
      eexists; split; [reflexivity|]. cbn. rewrite xorb_false_r. apply value_flip.
    + (* Await *)
      destruct forallb; [|discriminate]. injection Hknow as _ <- _. exists acc'. now rewrite xorb_false_r.
    + (* Join *)
      injection Hknow as _ <- _. exists acc'. now rewrite xorb_false_r.
  - destruct Hknow as (_ & Ha & _). cbn [pass local_regs known_accounts known_registers] in *. rewrite forallb_forall in Ha.
    specialize (Ha _ (lookup_in _ _ _ Hacc)). unfold account_follows in Ha. cbn in Ha.
    destruct (lookup b acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
    destruct acc' as [c' q' a' d' l' f' w']. cbn in Ha. rewrite !andb_true_iff in Ha.
    destruct Ha as [[[[[[_ Hq] _] _] _] _] _].
    pose (st := State 0 [] rs (fun _ => Phase 0 0 0 0) [] e).
    apply (same_sound st) in Hq; [|exact Hrs]. eexists; split; [reflexivity|]. cbn. rewrite xorb_false_r.
    symmetry. exact Hq.
Qed.
Lemma parity_before b n w acc' :
  n <= w -> w <= length tr -> account_of b w = Some (Some acc') ->
  (forall m c, n <= m < w -> nth_error tr m <> Some (Do (Init b c))) ->
  exists acc, account_of b n = Some (Some acc) /\
    parity_at w acc' = xorb (parity_at n acc) (Nat.odd (phases b w - phases b n)).
Proof.
  intros Hle. revert acc'. induction Hle as [|w Hle IH]; intros acc' Hlen Hacc Hinit.
  - exists acc'. split; auto. rewrite Nat.sub_diag. cbn. now rewrite xorb_false_r.
  - destruct (nth_error tr w) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
    destruct (parity_next b w ev acc') as (acc & Hacc0 & Hq); auto.
    { intros m ->. now apply (Hinit w m); [lia|]. }
    destruct (IH acc) as (acc0 & Hacc1 & Hq0); auto; [lia| |].
    { intros m c Hm. apply Hinit. lia. }
    exists acc0. split; auto. rewrite Hq, Hq0. cbn [phases]. pose proof (phases_grow b _ _ Hle).
    destruct (advances b w); cbn [Nat.add].
    + rewrite Nat.sub_succ_l, odd_succ by auto. now destruct (parity_at n acc0), (Nat.odd (phases b w - phases b n)).
    + now rewrite xorb_false_r.
Qed.

Ltac run_cases Hknow :=
  repeat match type of Hknow with
    | context [match ?x with _ => _ end] => first [is_var x; destruct x | destruct x eqn:?]; try discriminate
    end; try (injection Hknow as <- <- <-).

(* Other threads know of a new barrier only after they have met. *)
Lemma fresh_next b n ev :
  nth_error tr n = Some ev -> ev <> Do Sync ->
  (forall acc, account_of b n = Some (Some acc) -> fresh acc = true) ->
  forall acc, account_of b (S n) = Some (Some acc) -> fresh acc = true.
Proof.
  intros Hev Hsync H acc' Hacc. unfold account_of in *. specialize (Hknow _ _ Hev).
  destruct (know n) as [ks acs cl], (know (S n)) as [ks' acs' cl']. cbn [known_accounts] in *.
  destruct ev as [i|ed].
  - cbn in Hknow. destruct i as [b0 m|b0|b0 t m|b0 m|b0|b0 o| |b0|r0 v0|r0|ts|t ts]; [| | | | | |congruence|..].
    1-6: run_cases Hknow; rewrite lookup_set in Hacc; destruct (Nat.eqb_spec b b0) as [->|]; try (now apply H);
      try discriminate; injection Hacc as <-; cbn; auto;
      match goal with E : lookup _ _ = Some (Some _) |- _ => specialize (H _ E); cbn in H; congruence end.
    all: run_cases Hknow; try (now apply H).
    all: rewrite lookup_map_accounts in Hacc; destruct (lookup b acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate;
      injection Hacc as <-; exact (H _ eq_refl).
  - destruct Hknow as (_ & Ha & _). cbn [known_accounts known_registers] in *. rewrite forallb_forall in Ha.
    specialize (Ha _ (lookup_in _ _ _ Hacc)). unfold account_follows in Ha. cbn in Ha.
    destruct (lookup b acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
    destruct acc' as [c' q' a' d' l' f' w']. cbn in Ha. rewrite !andb_true_iff in Ha.
    destruct Ha as [[_ Hf] _]. apply eqb_prop in Hf. cbn. subst f'. exact (H _ eq_refl).
Qed.

Lemma is_sync ev : {ev = Do Sync} + {ev <> Do Sync}.
Proof. destruct ev as [[]|]; try (right; discriminate). now left. Qed.

(* Between an initialization and a wait, all threads meet. *)
Lemma sync_between b m c w o :
  nth_error tr m = Some (Do (Init b c)) -> m < w -> nth_error tr w = Some (Do (TryWait b o)) ->
  exists s, m < s < w /\ nth_error tr s = Some (Do Sync).
Proof.
  intros Hm Hlt Hw.
  assert (Hlen : w < length tr) by (apply nth_error_Some; congruence).
  assert (H : forall n, S m <= n -> n <= w -> (exists s, m < s < n /\ nth_error tr s = Some (Do Sync)) \/
    forall acc, account_of b n = Some (Some acc) -> fresh acc = true).
  { induction 1 as [|n Hn IH]; intros Hle.
    - right. intros acc. pose proof (Hknow _ _ Hm) as Hk. unfold account_of.
      destruct (know m) as [ks acs cl], (know (S m)) as [ks' acs' cl']. cbn in Hk. run_cases Hk.
      cbn. rewrite Nat.eqb_refl. intros H; now injection H as <-.
    - destruct IH as [(s & Hs & Hsync)|IH]; [lia|left; exists s; split; auto; lia|].
      destruct (nth_error tr n) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
      destruct (is_sync ev) as [->|Hne]; [left; exists n; split; auto; lia|].
      right. now apply fresh_next with (1 := Hev). }
  destruct (H w) as [Hs|Hf]; auto. exfalso. pose proof (Hknow _ _ Hw) as Hk. unfold account_of in Hf.
  destruct (know w) as [ks acs cl]. cbn in Hk, Hf.
  destruct (lookup b acs) as [[[c' q a d l [|] w']|]|]; try discriminate. now specialize (Hf _ eq_refl).
Qed.

(* Nothing is expected of a phase once its last arrival is done. *)
Lemma armed_next b n ev :
  nth_error tr n = Some ev -> (forall m, ev <> Do (Init b m)) -> advances b n = false ->
  (forall acc, account_of b n = Some (Some acc) -> arrivals acc = 0 /\ (debt acc <= 0)%Z) ->
  forall acc, account_of b (S n) = Some (Some acc) -> arrivals acc = 0 /\ (debt acc <= 0)%Z.
Proof.
  intros Hev Hinit Hadv H acc' Hacc. unfold account_of, advances in *. rewrite Hev in Hadv. specialize (Hknow _ _ Hev).
  unfold account_of in Hadv.
  destruct (know n) as [ks acs cl], (know (S n)) as [ks' acs' cl']. cbn [known_accounts] in *.
  destruct ev as [i|ed].
  - cbn in Hknow. destruct i as [b0 m|b0|b0 t m|b0 m|b0|b0 o| |b0|r0 v0|r0|ts|t ts].
    1: destruct (Nat.eqb_spec b0 b) as [->|Hne]; [now destruct (Hinit m)|].
    1-6: run_cases Hknow; rewrite lookup_set in Hacc; destruct (Nat.eqb_spec b b0) as [->|]; try (now apply H);
      try discriminate; try congruence; injection Hacc as <-; cbn;
      match goal with E : lookup _ _ = Some (Some _) |- _ => pose proof (H _ E) as Hz; cbn in Hz;
        try rewrite Nat.eqb_refl, E in Hadv; cbn in Hadv end;
      repeat match goal with E : (_ =? 0) = _ |- _ => apply Nat.eqb_eq in E || apply Nat.eqb_neq in E end;
      try (split; lia); try (cbn in Hadv; congruence); try lia.
    all: run_cases Hknow; try (now apply H).
    all: rewrite lookup_map_accounts in Hacc; destruct (lookup b acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate;
      injection Hacc as <-; exact (H _ eq_refl).
  - destruct Hknow as (_ & Ha & _). cbn [known_accounts known_registers] in *. rewrite forallb_forall in Ha.
    specialize (Ha _ (lookup_in _ _ _ Hacc)). unfold account_follows in Ha. cbn in Ha.
    destruct (lookup b acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
    destruct acc' as [c' q' a' d' l' f' w']. cbn in Ha. rewrite !andb_true_iff in Ha.
    destruct Ha as [[[[[_ Ha] Hd] _] _] _]. apply Nat.eqb_eq in Ha. apply Z.eqb_eq in Hd. subst. exact (H _ eq_refl).
Qed.

(* Claims. *)

Definition claim_holds (n : nat) (ls : list load) (c : nat) (L : list barrier) : Prop :=
  exists b m, nth_error (issued (place n)) c = Some (b, m) /\ (In b L \/ landed_all ls c m).

Definition claims_known (n : nat) (ls : list load) : Prop :=
  forall t L, lookup t (known_claims (know n)) = Some L ->
    forall c, In c (local_env (place n) t) -> claim_holds n ls c L.

Lemma claim_app n ls c L L' : claim_holds n ls c L -> claim_holds n ls c (L ++ L') /\ claim_holds n ls c (L' ++ L).
Proof.
  intros (b & m & Hb & [H|H]); split; exists b, m; (split; [exact Hb|]); auto; left; apply in_or_app; auto.
Qed.

Lemma join_known n ls (e : token -> list nat) cl ts L :
  (forall t L, lookup t cl = Some L -> forall c, In c (e t) -> claim_holds n ls c L) ->
  join cl ts = Some L -> forall c, In c (flat_map e ts) -> claim_holds n ls c L.
Proof.
  intros Hcl. revert L. induction ts as [|t ts IH]; cbn; intros L; [intros _ c []|].
  destruct (lookup t cl) as [L0|] eqn:E; [|discriminate].
  destruct (join cl ts) as [L1|]; [|discriminate]. intros H; injection H as <-. intros c Hc.
  apply in_app_or in Hc as [Hc|Hc].
  - exact (proj1 (claim_app _ _ _ _ _ (Hcl _ _ E _ Hc))).
  - exact (proj2 (claim_app _ _ _ _ _ (IH _ eq_refl _ Hc))).
Qed.

Lemma claim_next n ev ls c L : nth_error tr n = Some ev -> claim_holds n ls c L -> claim_holds (S n) ls c L.
Proof.
  intros Hev (b & m & Hb & H). exists b, m. split; auto.
  rewrite (issued_next _ _ Hev), nth_error_app1; auto. apply nth_error_Some. congruence.
Qed.

Lemma claims_next n ev ls :
  nth_error tr n = Some ev -> claims_known n ls ->
  (forall b, advances b n = true -> forall c m, nth_error (issued (place n)) c = Some (b, m) -> landed_all ls c m) ->
  claims_known (S n) ls.
Proof.
  intros Hev H0 Hadv t L Ht c Hc.
  assert (H : forall t L, lookup t (known_claims (know n)) = Some L ->
      forall c, In c (local_env (place n) t) -> claim_holds (S n) ls c L).
  { intros t' L' Ht' c' Hc'. eapply claim_next; eauto. }
  pose proof (issued_next _ _ Hev) as Hiss. pose proof (Hknow _ _ Hev) as Hk. rewrite (place_next _ _ Hev) in Hc.
  assert (Hacc : forall b, account_of b n = lookup b (known_accounts (know n))) by reflexivity.
  destruct (know n) as [ks acs cl], (know (S n)) as [ks' acs' cl']. cbn [known_claims known_accounts] in *.
  destruct ev as [i|ed].
  - cbn in Hk. destruct i as [b0 m|b0|b0 t0 m|b0 m|b0|b0 o| |b0|r0 v0|r0|ts|t0 ts].
    all: try (run_cases Hk; destruct (place n); eapply H; eassumption).
    + (* Load *)
      run_cases Hk. rewrite lookup_set in Ht. destruct (place n) as [rs e iss]. cbn in Hc. cbn [issued] in Hiss. unfold Machine.update in Hc.
      destruct (t =? t0); [|eapply H; eassumption].
      injection Ht as <-. destruct Hc as [<-|[]]. exists b0, m. split; [|left; cbn; auto].
      rewrite Hiss, nth_error_app2, Nat.sub_diag by lia. reflexivity.
    + (* TryWait *)
      destruct (lookup b0 acs) as [[[c0 q a d l f w]|]|] eqn:E; try discriminate. destruct f; [discriminate|].
      destruct (a =? 0) eqn:Ea.
      * destruct (same _ _ _ && _); [|discriminate]. injection Hk as <- <- <-. rewrite lookup_drop in Ht.
        destruct (lookup t cl) as [L0|] eqn:Et; [|discriminate]. injection Ht as <-.
        assert (Hc' : In c (local_env (place n) t)) by now destruct (place n).
        destruct (H _ _ Et _ Hc') as (b & m & Hb & Hl).
        exists b, m. split; auto. destruct Hl as [Hl|Hl]; [|now right].
        destruct (Nat.eq_dec b b0) as [->|Hne].
        -- right. apply Hadv with b0.
           ++ unfold advances. rewrite Hev, Nat.eqb_refl, Hacc, E. exact Ea.
           ++ rewrite Hiss, app_nil_r in Hb. exact Hb.
        -- left. apply filter_In. split; auto. apply negb_true_iff. now apply Nat.eqb_neq.
      * destruct same; [|discriminate]. injection Hk as <- <- <-. destruct (place n). eapply H; eassumption.
    + (* Join *)
      injection Hk as <- <- <-. destruct (place n) as [rs e iss]. cbn in Hc. unfold Machine.update in Hc.
      destruct (join cl ts) as [L0|] eqn:E; rewrite ?lookup_set, ?lookup_remove in Ht; destruct (t =? t0);
        try (eapply H; eassumption); [|discriminate].
      injection Ht as <-. exact (join_known _ _ _ _ _ _ H E _ Hc).
  - destruct Hk as (_ & _ & Hf). cbn [known_claims] in Hf. rewrite forallb_forall in Hf.
    specialize (Hf _ (lookup_in _ _ _ Ht)). unfold claim_follows in Hf. cbn in Hf.
    destruct (bound cl (binds ed) t) as [L0|] eqn:E; [|discriminate].
    assert (Hb : claim_holds (S n) ls c L0).
    { destruct (place n) as [rs e iss]. cbn in Hc. unfold bound in E. unfold bind in Hc.
      destruct (lookup t (binds ed)); [exact (join_known _ _ _ _ _ _ H E _ Hc)|eapply H; eassumption]. }
    destruct Hb as (b & m & Hb & [Hin|Hl]); exists b, m; split; auto. left.
    rewrite forallb_forall in Hf. specialize (Hf _ Hin). apply existsb_exists in Hf as [b' [Hb' Heq]].
    apply Nat.eqb_eq in Heq. now subst.
Qed.

Lemma claims_landing n ls ls' :
  (forall c l, nth_error ls c = Some l -> left l = 0 -> exists l', nth_error ls' c = Some l' /\ left l' = 0) ->
  claims_known n ls -> claims_known n ls'.
Proof.
  intros Hls H t L Ht c Hc. destruct (H _ _ Ht _ Hc) as (b & m & Hb & Hl). exists b, m. split; auto.
  destruct Hl as [Hl|[Hl|(l & Hl & H0)]]; [now left|right; now left|]. right. right. eauto.
Qed.

(* The first thread. *)

Lemma run_local v i bs ls st :
  run_instr i (seen v [i] bs ls) st -> length ls = length (issued v) ->
  st = seen (pass (Do i) v) [] (barriers st) (loads st).
Proof. destruct v as [rs e iss]. unfold seen. cbn. intros H Hlen. inversion H; subst; cbn; congruence. Qed.

Lemma run_loads v i bs ls st :
  run_instr i (seen v [i] bs ls) st -> loads st = ls ++ match i with Load b _ m => [InFlight b m] | _ => [] end.
Proof. destruct v as [rs e iss]. unfold seen. cbn. intros H. now inversion H; subst; cbn; rewrite ?app_nil_r. Qed.

(* Where the phase of b is complete, and the first thread has not waited for it yet. *)
Definition over (b : barrier) (j : nat) (bs : barrier -> phase_state) (ls : list load) : Prop :=
  exists acc, account_of b j = Some (Some acc) /\ arrivals acc = 0 /\ debt acc = 0%Z /\
    Nat.odd (phase (bs b)) = negb (parity_at j acc) /\ outstanding b ls = 0.

(* A wait at n that the first thread has passed, without a barrier of all threads since, can be passed. *)
Definition passed (b : barrier) (o : operand) (n j : nat) (bs : barrier -> phase_state) : Prop :=
  Nat.odd (phase (bs b)) <> operand_value (local_regs (place n)) o /\ 0 < pending (bs b) /\
  forall acc, account_of b j = Some acc -> exists a, acc = Some a /\ at_wait a = true /\ 0 < arrivals a.

Definition knows (j : nat) (bs : barrier -> phase_state) (ls : list load) : Prop :=
  knowledge_holds (seen (place j) [] bs ls) (know j).

Record inv (s : threads) : Prop := {
  inv_len : forall x, In x (first s :: others s) -> x <= length tr;
  inv_knows : knows (first s) (shared s) (flying s);
  inv_loads : map load_barrier (flying s) = map fst (issued (place (first s)));
  inv_sync : forall n x, nth_error tr n = Some (Do Sync) -> In x (first s :: others s) -> n < x ->
    all_at n (first s) (others s);
  inv_claims : forall n x, In x (first s :: others s) -> n <= x -> claims_known n (flying s);
  inv_ahead : forall f b, In f (others s) -> first s <= f ->
    phases b f <= S (phases b (first s)) /\
    (phases b (first s) < phases b f -> over b (first s) (shared s) (flying s));
  inv_behind : forall n b o, n < first s -> nth_error tr n = Some (Do (TryWait b o)) ->
    (forall m, n < m < first s -> nth_error tr m <> Some (Do Sync)) -> passed b o n (first s) (shared s) }.

(* Threads that are ahead of the first one. *)

Lemma no_init s x b o m c w :
  inv s -> In x (first s :: others s) -> first s <= m -> m < w -> w <= x ->
  nth_error tr w = Some (Do (TryWait b o)) -> nth_error tr m <> Some (Do (Init b c)).
Proof.
  intros Hs Hx Hm Hmw Hwx Hw Hinit. destruct (sync_between _ _ _ _ _ Hinit Hmw Hw) as (n & Hn & Hsync).
  destruct (inv_sync _ Hs n x Hsync Hx) as [H _]; lia.
Qed.

Lemma advances_wait b n :
  advances b n = true ->
  exists o acc, nth_error tr n = Some (Do (TryWait b o)) /\ account_of b n = Some (Some acc) /\ arrivals acc = 0 /\
    n < length tr /\ parity_at n acc = operand_value (local_regs (place n)) o.
Proof.
  unfold advances. destruct (nth_error tr n) as [[[]|]|] eqn:Hev; try discriminate.
  rewrite andb_true_iff. intros [Hb Ha]. apply Nat.eqb_eq in Hb. subst b0.
  assert (Hlen : n < length tr) by (apply nth_error_Some; congruence).
  destruct (account_of b n) as [[acc|]|] eqn:E; try discriminate. apply Nat.eqb_eq in Ha.
  exists o, acc. repeat split; auto.
  pose proof (registers_at n (Nat.lt_le_incl _ _ Hlen)) as Hrs. unfold registers_known in Hrs.
  pose proof (Hknow _ _ Hev) as Hk. unfold account_of in E. unfold parity_at.
  destruct (know n) as [ks acs cl]. cbn [known_accounts known_registers] in *. cbn in Hk. rewrite E in Hk.
  destruct acc as [m q a d l f w]. cbn in Ha. subst a. destruct f; [discriminate|]. cbn in Hk.
  destruct (same ks q (operand_parity o)) eqn:Hq; [|discriminate].
  apply (same_sound (seen (place n) [] (fun _ => Phase 0 0 0 0) [])) in Hq; [|exact Hrs].
  rewrite value_operand in Hq. exact Hq.
Qed.

Lemma phases_some b x y : phases b x < phases b y -> exists w, x <= w < y /\ advances b w = true.
Proof.
  induction y as [|y IH]; cbn; [lia|]. intros H.
  destruct (le_lt_dec x y) as [Hle|Hlt]; [|pose proof (phases_grow b (S y) x Hlt) as Hg; cbn in Hg; lia].
  destruct (advances b y) eqn:E; [exists y; auto with arith|].
  destruct IH as (w & Hw & Ha); [exact H|]. exists w. split; [lia|exact Ha].
Qed.

Lemma over_ahead s f b o :
  inv s -> In f (others s) -> first s <= f -> advances b f = true ->
  nth_error tr f = Some (Do (TryWait b o)) -> Nat.odd (phase (shared s b)) <> operand_value (local_regs (place f)) o ->
  phases b f = phases b (first s) /\ over b (first s) (shared s) (flying s).
Proof.
  intros Hs Hf Hle Hadv Hev Hodd.
  destruct (advances_wait _ _ Hadv) as (o' & acc & Hev' & Hacc & Ha & Hlen & Hq).
  assert (o' = o) by congruence. subst o'.
  destruct (parity_before b (first s) f acc) as (acc0 & Hacc0 & Hq0); auto; [lia| |].
  { intros m c Hm. apply (no_init s f b o m c f); cbn; auto; lia. }
  destruct (inv_ahead _ Hs f b Hf Hle) as [Hmost Hover]. pose proof (phases_grow b _ _ Hle) as Hgrow.
  destruct (Nat.eq_dec (phases b f) (phases b (first s))) as [Heq|Hne].
  - split; auto. rewrite Heq, Nat.sub_diag in Hq0. cbn in Hq0. rewrite xorb_false_r in Hq0.
    destruct (inv_knows _ Hs) as (_ & Hacs & _). specialize (Hacs _ _ Hacc0).
    unfold account_holds in Hacs. exists acc0. destruct acc0 as [m q a d l fr w].
    unfold phase_holds in Hacs. cbn [seen barriers loads regs] in Hacs. unfold parity_at in *. cbn [parity arrivals debt] in *.
    destruct Hacs as (_ & _ & _ & [(Hodd' & _)|(-> & -> & Hodd' & _ & _ & Ho)]); [congruence|]. repeat split; auto.
  - exfalso. destruct Hover as (acc1 & Hacc1 & _ & _ & Hodd1 & _); [lia|].
    assert (acc1 = acc0) by congruence. subst acc1.
    replace (phases b f - phases b (first s)) with 1 in Hq0 by lia. cbn in Hq0. rewrite xorb_true_r in Hq0. congruence.
Qed.

Lemma armed_until j f b :
  f <= length tr -> phases b f = phases b j ->
  (forall m c, j <= m < f -> nth_error tr m <> Some (Do (Init b c))) ->
  (forall acc, account_of b j = Some (Some acc) -> arrivals acc = 0 /\ (debt acc <= 0)%Z) ->
  forall w, j <= w -> w <= f -> forall acc, account_of b w = Some (Some acc) -> arrivals acc = 0 /\ (debt acc <= 0)%Z.
Proof.
  intros Hlen Hph Hinit Hj. induction 1 as [|w Hw IH]; intros Hle; auto.
  destruct (nth_error tr w) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
  apply armed_next with (1 := Hev).
  - intros m ->. now apply (Hinit w m); [lia|].
  - pose proof (phases_grow b _ _ Hw). pose proof (phases_grow b _ _ Hle) as Hg. cbn in Hg.
    destruct (advances b w); auto. lia.
  - apply IH. lia.
Qed.

Lemma issued_between j f b c m :
  j <= f -> f <= length tr -> nth_error (issued (place f)) c = Some (b, m) ->
  nth_error (issued (place j)) c = Some (b, m) \/
  length (issued (place j)) <= c /\ exists w t, j <= w < f /\ nth_error tr w = Some (Do (Load b t m)).
Proof.
  induction 1 as [|f Hf IH]; intros Hlen Hc; auto.
  destruct (nth_error tr f) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
  rewrite (issued_next _ _ Hev) in Hc.
  destruct (lt_dec c (length (issued (place f)))) as [Hlt|Hge].
  - rewrite nth_error_app1 in Hc by auto. destruct (IH ltac:(lia) Hc) as [H|(H & w & t & Hw & Hl)]; [auto|].
    right. split; auto. exists w, t. split; auto. lia.
  - right. rewrite nth_error_app2 in Hc by lia. split.
    + clear IH Hev Hc ev. assert (H : length (issued (place j)) <= length (issued (place f))); [|lia].
      clear Hge. induction Hf as [|f Hf IH]; auto.
      destruct (nth_error tr f) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
      rewrite (issued_next _ _ Hev), app_length. specialize (IH ltac:(lia)). lia.
    + destruct (c - length (issued (place f))) as [|[|x]]; destruct ev as [[]|]; try discriminate.
      cbn in Hc. injection Hc as <- <-. exists f, t. split; auto with arith.
Qed.

Lemma landed_ahead s f b o c m :
  inv s -> In f (others s) -> first s <= f -> phases b f = phases b (first s) ->
  over b (first s) (shared s) (flying s) -> nth_error tr f = Some (Do (TryWait b o)) ->
  nth_error (issued (place f)) c = Some (b, m) -> landed_all (flying s) c m.
Proof.
  intros Hs Hf Hle Hph (acc & Hacc & Ha & Hd & _ & Ho) Hev Hc.
  assert (Hlen : f < length tr) by (apply nth_error_Some; congruence).
  destruct (issued_between _ _ _ _ _ Hle (Nat.lt_le_incl _ _ Hlen) Hc) as [Hj|(_ & w & t & Hw & Hl)].
  - right. pose proof (map_nth_error fst _ _ Hj) as Hb. rewrite <- (inv_loads _ Hs) in Hb. cbn in Hb.
    destruct (nth_error (flying s) c) as [l|] eqn:El.
    + exists l. split; auto. rewrite (map_nth_error load_barrier _ _ El) in Hb. injection Hb as Hb.
      apply outstanding_zero with (2 := nth_error_In _ _ El) (1 := Ho). exact Hb.
    + apply nth_error_None in El. assert (Hx : nth_error (map load_barrier (flying s)) c <> None) by congruence.
      apply nth_error_Some in Hx. rewrite map_length in Hx. lia.
  - left. assert (Hz : forall acc, account_of b w = Some (Some acc) -> arrivals acc = 0 /\ (debt acc <= 0)%Z).
    { apply (armed_until (first s) f b); auto; try lia.
      - intros n c' Hn. apply (no_init s f b o n c' f); cbn; auto; lia.
      - intros acc' Hacc'. assert (acc' = acc) by congruence. subst. split; auto. lia. }
    pose proof (Hknow _ _ Hl) as Hk. unfold account_of in Hz. destruct (know w) as [ks acs cl]. cbn in Hk, Hz.
    destruct (lookup b acs) as [[[c' q a d l f' w']|]|]; try discriminate.
    destruct (Hz _ eq_refl) as [Ha' Hd']. cbn in Ha', Hd'. subst a.
    destruct ((0 =? 0) && (d <? Z.of_nat m)%Z) eqn:E; [discriminate|]. cbn in E. apply Z.ltb_ge in E. lia.
Qed.

Lemma over_next s f b ev bs ls :
  inv s -> nth_error tr (first s) = Some ev -> In f (others s) -> S (first s) <= f ->
  phases b (S (first s)) < phases b f -> knows (S (first s)) bs ls ->
  (over b (first s) (shared s) (flying s) -> outstanding b ls = 0) ->
  over b (S (first s)) bs ls.
Proof.
  intros Hs Hev Hf Hle Hlt (_ & Hacs & _) Hout.
  destruct (phases_some _ _ _ Hlt) as (w & Hw & Hadv).
  destruct (advances_wait _ _ Hadv) as (o & accw & Hwait & Haccw & _ & Hlen & _).
  assert (Hno : forall m c, first s <= m < w -> nth_error tr m <> Some (Do (Init b c))).
  { intros m c Hm. apply (no_init s f b o m c w); cbn; auto; lia. }
  destruct (parity_before b (S (first s)) w accw) as (acc & Hacc & _); auto; [lia|lia| |].
  { intros m c Hm. apply Hno. lia. }
  assert (Hne : forall m, ev <> Do (Init b m)) by (intros m ->; now apply (Hno (first s) m); [lia|]).
  destruct (parity_next b _ _ _ Hev Hacc Hne) as (acc0 & Hacc0 & Hq).
  destruct (inv_ahead _ Hs f b Hf) as [Hmost Hover]; [lia|]. cbn [phases] in Hlt.
  destruct (advances b (first s)) eqn:Ea; [lia|]. rewrite xorb_false_r in Hq.
  specialize (Hover Hlt). specialize (Hout Hover). destruct Hover as (acc1 & Hacc1 & Ha & Hd & Hodd & _).
  assert (acc1 = acc0) by congruence. subst acc1.
  destruct (armed_next b _ _ Hev Hne Ea) with (acc := acc) as [Ha' Hd']; auto.
  { intros acc1 H1. assert (acc1 = acc0) by congruence. subst. split; auto. lia. }
  exists acc. specialize (Hacs _ _ Hacc). unfold account_holds in Hacs. unfold parity_at in *.
  destruct acc as [m q a d l fr w']. unfold phase_holds in Hacs. cbn [seen barriers loads regs] in Hacs.
  cbn [arrivals debt parity] in *. rewrite Hout in Hacs.
  destruct Hacs as (_ & _ & _ & [(_ & _ & _ & Hpos)|(_ & -> & Hodd' & _)]); [specialize (Hpos Ha'); lia|]. auto.
Qed.

(* Threads that are behind the first one. *)

Lemma passed_next b o n j bs ls i st :
  nth_error tr j = Some (Do i) -> i <> Sync -> knows j bs ls -> run_instr i (seen (place j) [i] bs ls) st ->
  passed b o n j bs -> passed b o n (S j) (barriers st).
Proof.
  intros Hev Hsync (_ & Hacs & _) Hrun (Hodd & Hpend & Hacc). pose proof (Hknow _ _ Hev) as Hk.
  assert (Hholds : forall acc, account_of b j = Some acc -> account_holds (seen (place j) [] bs ls) b acc).
  { intros acc H. now apply Hacs. }
  clear Hacs. unfold passed. unfold account_of in *. unfold seen in Hrun.
  destruct (know j) as [ks acs cl], (know (S j)) as [ks' acs' cl']. cbn [known_accounts] in *.
  assert (Hsame : forall acs1, acs1 = acs -> forall acc, lookup b acs1 = Some acc ->
      exists a, acc = Some a /\ at_wait a = true /\ 0 < arrivals a) by (intros acs1 ->; exact Hacc).
  destruct i as [b0 m|b0|b0 t m|b0 m|b0|b0 o0| |b0|r0 v0|r0|ts|t ts]; cbn in Hk; inversion Hrun; subst;
    cbn [barriers]; [| | | | | |congruence|..].
  - destruct (lookup b0 acs) as [[|]|] eqn:E; try discriminate. destruct (m =? 0); [discriminate|].
    injection Hk as <- <- <-. unfold Machine.update. rewrite lookup_set. destruct (Nat.eqb_spec b b0) as [->|Hne]; auto.
    destruct (Hacc _ E) as (a & Ha & _). discriminate.
  - destruct (lookup b0 acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate.
    destruct (l || w) eqn:Elw; [discriminate|]. injection Hk as <- <- <-. unfold Machine.update. rewrite lookup_set.
    destruct (Nat.eqb_spec b b0) as [->|Hne]; auto.
    destruct (Hacc _ E) as (a' & Ha & Hw & _). injection Ha as <-. cbn in Hw. subst w. now rewrite orb_true_r in Elw.
  - destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
    destruct ((a =? 0) && _); [discriminate|]. injection Hk as <- <- <-. rewrite lookup_set. repeat split; auto.
    destruct (Nat.eqb_spec b b0) as [->|Hne]; auto. intros acc H; injection H as <-.
    destruct (Hacc _ E) as (a' & Ha & Hw & Hp). injection Ha as <-. cbn in *. eexists; split; [reflexivity|]. auto.
  - destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate.
    destruct (a =? 0); [discriminate|]. injection Hk as <- <- <-. unfold Machine.update. rewrite lookup_set.
    destruct (Nat.eqb_spec b b0) as [->|Hne]; auto. unfold add_bytes. rewrite settle_open by (cbn; auto). cbn [phase pending].
    repeat split; auto. intros acc H; injection H as <-.
    destruct (Hacc _ E) as (a' & Ha & Hw & Hp). injection Ha as <-. cbn in *. eexists; split; [reflexivity|]. auto.
  - destruct (lookup b0 acs) as [[[c q [|a] d l f w]|]|] eqn:E; try discriminate.
    destruct ((a =? 0) && _) eqn:Elast; [discriminate|]. injection Hk as <- <- <-. unfold Machine.update. rewrite lookup_set.
    destruct (Nat.eqb_spec b b0) as [->|Hne]; auto.
    destruct (Hacc _ E) as (a' & Ha & Hw & _). injection Ha as <-. cbn in Hw. subst w.
    rewrite orb_true_r, andb_true_r in Elast. apply Nat.eqb_neq in Elast.
    specialize (Hholds _ E). cbn in Hholds. destruct Hholds as (_ & _ & _ & [(_ & Hp & _)|(H & _)]); [|discriminate].
    cbn in Hp. unfold arrive. rewrite settle_open by (cbn; lia). cbn [phase pending]. rewrite Hp. cbn [pred].
    split; [exact Hodd|split; [lia|]]. intros acc H; injection H as <-. eexists; split; [reflexivity|]. cbn. split; auto. lia.
  - destruct (lookup b0 acs) as [[[c q a d l f w]|]|] eqn:E; try discriminate. destruct f; [discriminate|].
    split; [exact Hodd|split; [exact Hpend|]]. destruct (Nat.eqb_spec a 0) as [->|Hne].
    + destruct (same _ _ _ && _); [|discriminate]. injection Hk as <- <- <-. rewrite lookup_set.
      destruct (Nat.eqb_spec b b0) as [->|Hne]; auto.
      destruct (Hacc _ E) as (a' & Ha & _ & Hp). injection Ha as <-. cbn in Hp. lia.
    + destruct same; [|discriminate]. injection Hk as <- <- <-. rewrite lookup_set.
      destruct (Nat.eqb_spec b b0) as [->|Hne']; auto. intros acc H; injection H as <-.
      eexists; split; [reflexivity|]. cbn. split; auto. lia.
  - destruct (lookup b0 acs); [|discriminate]. destruct (may_be_loaded _); [discriminate|].
    injection Hk as <- <- <-. auto.
  - destruct existsb; [discriminate|]. injection Hk as <- <- <-. auto.
  - injection Hk as <- <- <-. repeat split; auto. intros acc. rewrite lookup_map_accounts.
    destruct (lookup b acs) as [acc0|] eqn:E; [|discriminate]. cbn. intros H; injection H as <-.
    destruct (Hacc _ eq_refl) as (a & -> & Hw & Hp). destruct a. eexists; split; [reflexivity|]. auto.
  - destruct forallb; [|discriminate]. injection Hk as <- <- <-. auto.
  - injection Hk as <- <- <-. auto.
Qed.

Lemma passed_edge b o n j bs ed : nth_error tr j = Some (Take ed) -> passed b o n j bs -> passed b o n (S j) bs.
Proof.
  intros Hev (Hodd & Hpend & Hacc). split; [exact Hodd|split; [exact Hpend|]]. intros acc Hl.
  destruct (Hknow _ _ Hev) as (_ & Ha & _). rewrite forallb_forall in Ha.
  specialize (Ha _ (lookup_in _ _ _ Hl)). unfold account_follows in Ha. cbn in Ha. unfold account_of in Hacc.
  destruct (lookup b (known_accounts (know j))) as [acc0|] eqn:E; [|discriminate].
  destruct (Hacc _ eq_refl) as (a0 & -> & Hw & Hp). destruct acc as [acc|]; [|discriminate].
  exists acc. split; auto. destruct a0 as [m q a d l f w], acc as [m' q' a' d' l' f' w']. cbn in *.
  rewrite !andb_true_iff in Ha. destruct Ha as [[[[[_ Ha] _] _] _] Hw']. apply Nat.eqb_eq in Ha. apply eqb_prop in Hw'.
  subst. auto.
Qed.

Lemma passed_here b o j bs ls :
  nth_error tr j = Some (Do (TryWait b o)) -> knows j bs ls ->
  Nat.odd (phase (bs b)) <> operand_value (local_regs (place j)) o -> passed b o j (S j) bs.
Proof.
  intros Hev (Hrs & Hacs & _) Hodd. pose proof (Hknow _ _ Hev) as Hk. unfold passed, account_of.
  destruct (know j) as [ks acs cl], (know (S j)) as [ks' acs' cl']. cbn [known_accounts known_registers] in *. cbn in Hk.
  destruct (lookup b acs) as [[[m q a d l f w]|]|] eqn:E; try discriminate. destruct f; [discriminate|].
  specialize (Hacs _ _ E). cbn in Hacs. destruct Hacs as (Hm & _ & _ & Hb). split; [exact Hodd|].
  destruct (Nat.eqb_spec a 0) as [->|Hne].
  - destruct (same ks q (operand_parity o) && (d =? 0)%Z) eqn:Hq; [|discriminate]. injection Hk as <- <- <-.
    apply andb_true_iff in Hq as [Hq _]. apply (same_sound _ _ _ _ Hrs) in Hq. rewrite value_operand in Hq. cbn in Hq.
    destruct Hb as [(Hodd' & _)|(_ & _ & _ & Hp & _)]; [congruence|]. split; [lia|].
    intros acc. rewrite lookup_set, Nat.eqb_refl. intros H; injection H as <-. eexists; split; [reflexivity|]. auto.
  - destruct same; [|discriminate]. injection Hk as <- <- <-.
    destruct Hb as [(_ & Hp & _)|(H & _)]; [|lia]. split; [lia|].
    intros acc. rewrite lookup_set, Nat.eqb_refl. intros H; injection H as <-. eexists; split; [reflexivity|]. cbn. split; auto. lia.
Qed.

(* The invariant is one. *)

Lemma claims_of_first j bs ls :
  knows j bs ls -> map load_barrier ls = map fst (issued (place j)) -> claims_known j ls.
Proof.
  intros (_ & _ & Hcl) Hmap t L Ht c Hc. destruct (Hcl _ _ Ht c Hc) as (l & Hl & Hload). cbn in Hl.
  pose proof (map_nth_error load_barrier _ _ Hl) as Hb. rewrite Hmap in Hb.
  destruct (nth_error (issued (place j)) c) as [[b m]|] eqn:E.
  - rewrite (map_nth_error fst _ _ E) in Hb. injection Hb as Hb. cbn in Hb. exists b, m. split; [exact E|].
    destruct Hload as [H0|Hin]; [right; right; eauto|left; congruence].
  - apply nth_error_None in E. assert (Hx : nth_error (map fst (issued (place j))) c <> None) by congruence.
    apply nth_error_Some in Hx. rewrite map_length in Hx. lia.
Qed.

Lemma inv_begin fs bs : Forall (fun f => f = 0) fs -> (forall b, count (bs b) = 0) -> inv (Threads 0 fs bs []).
Proof.
  intros Hfs Hbs. rewrite Forall_forall in Hfs. destruct Hbegin as (Hr & Hc & Ha).
  assert (Hx : forall x, In x (0 :: fs) -> x = 0) by (intros x [<-|H]; auto).
  constructor; cbn [first others shared flying].
  - intros x H. rewrite (Hx _ H). lia.
  - split; [|split].
    + rewrite Hr. intros r v; discriminate.
    + intros b acc H. rewrite (Ha _ _ H). cbn. auto.
    + rewrite Hc. intros t L; discriminate.
  - reflexivity.
  - intros n x _ H. rewrite (Hx _ H). lia.
  - intros n x H. rewrite (Hx _ H). intros Hn. assert (n = 0) by lia. subst. intros t L. rewrite Hc. discriminate.
  - intros f b H. rewrite (Hfs _ H). cbn. lia.
  - intros n b o Hn. lia.
Qed.

Lemma inv_first j fs bs ls i st :
  inv (Threads j fs bs ls) -> nth_error tr j = Some (Do i) -> may_pass (Do i) j j fs bs ->
  run_instr i (seen (place j) [i] bs ls) st -> inv (Threads (S j) fs (barriers st) (loads st)).
Proof.
  intros Hs Hev Hpass Hrun. pose proof Hs as [Hlen Hk Hloads Hsync Hclaims Hahead Hbehind].
  cbn [first others shared flying] in *.
  assert (Hls : length ls = length (issued (place j))).
  { rewrite <- (map_length load_barrier ls), Hloads. apply map_length. }
  assert (Hk' : knows (S j) (barriers st) (loads st)).
  { unfold knows. rewrite (place_next _ _ Hev). rewrite <- (run_local _ _ _ _ _ Hrun Hls).
    exact (run_sound _ _ _ _ _ Hrun Hk (Hknow _ _ Hev)). }
  pose proof (run_loads _ _ _ _ _ Hrun) as Hnew.
  assert (Hloads' : map load_barrier (loads st) = map fst (issued (place (S j)))).
  { rewrite Hnew, (issued_next _ _ Hev), !map_app, Hloads. f_equal. now destruct i. }
  assert (Hland : forall c l, nth_error ls c = Some l -> left l = 0 ->
      exists l', nth_error (loads st) c = Some l' /\ left l' = 0).
  { intros c l Hl H0. exists l. split; auto. rewrite Hnew, nth_error_app1; auto. apply nth_error_Some. congruence. }
  constructor; cbn [first others shared flying]; auto.
  - intros x [<-|Hx]; [|apply Hlen; now right]. apply nth_error_Some. congruence.
  - intros n x Hn Hx Hlt. assert (H : all_at n j fs).
    { destruct Hx as [<-|Hx]; [|apply Hsync with x; cbn; auto].
      destruct (Nat.eq_dec n j) as [->|Hne]; [|apply Hsync with j; cbn; auto; lia].
      assert (i = Sync) by congruence. subst i. exact Hpass. }
    destruct H as [H Hf]. split; auto.
  - intros n x Hx Hn. destruct (Nat.eq_dec n (S j)) as [->|Hne].
    + exact (claims_of_first _ _ _ Hk' Hloads').
    + apply claims_landing with (1 := Hland).
      destruct Hx as [<-|Hx]; [apply Hclaims with j|apply Hclaims with x]; cbn; auto; lia.
  - intros f b Hf Hle. destruct (Hahead f b Hf) as [Hmost _]; [lia|]. split; [cbn [phases]; lia|].
    intros Hlt. apply (over_next (Threads j fs bs ls) f b (Do i)); auto.
    intros (acc & Hacc & Ha & Hd & _ & Ho). rewrite Hnew, outstanding_app. cbn in Ho, Hacc. rewrite Ho.
    destruct i as [| |b0 t m| | | | | | | | |]; auto. cbn. destruct (Nat.eqb_spec b0 b) as [->|]; auto.
    pose proof (Hknow _ _ Hev) as Hk1. unfold account_of in Hacc. destruct (know j) as [ks acs cl]. cbn in Hk1, Hacc.
    rewrite Hacc in Hk1. destruct acc as [c q a d l f' w]. cbn in Ha, Hd. subst.
    destruct ((0 =? 0) && (0 <? Z.of_nat m)%Z) eqn:E; [discriminate|]. cbn [andb Nat.eqb] in E. apply Z.ltb_ge in E. lia.
  - intros n b o Hn Hw Hno. destruct (Nat.eq_dec n j) as [->|Hne].
    + assert (i = TryWait b o) by congruence. subst i. unfold seen in Hrun. inversion Hrun; subst. cbn [barriers].
      exact (passed_here _ _ _ _ _ Hev Hk Hpass).
    + apply passed_next with (bs := bs) (ls := ls) (1 := Hev); auto.
      * intros ->. apply (Hno j); [lia|exact Hev].
      * apply Hbehind; auto; [lia|]. intros m Hm. apply Hno. lia.
Qed.

Lemma inv_edge j fs bs ls ed :
  inv (Threads j fs bs ls) -> nth_error tr j = Some (Take ed) -> inv (Threads (S j) fs bs ls).
Proof.
  intros Hs Hev. pose proof Hs as [Hlen Hk Hloads Hsync Hclaims Hahead Hbehind].
  cbn [first others shared flying] in *.
  assert (Hk' : knows (S j) bs ls).
  { unfold knows. rewrite (place_next _ _ Hev). destruct (Hknow _ _ Hev) as (Hr & Ha & Hc).
    unfold knows in Hk. destruct (know (S j)) as [ks acs cl]. cbn [known_registers known_accounts known_claims] in *.
    refine (edge_sound (seen (place j) [] bs ls) _ (know j) (Node 0 ks acs cl []) (binds ed) _ _ _ _ Hr Ha Hc Hk);
      destruct (place j); reflexivity. }
  assert (Hloads' : map load_barrier ls = map fst (issued (place (S j)))).
  { now rewrite (issued_next _ _ Hev), app_nil_r. }
  constructor; cbn [first others shared flying]; auto.
  - intros x [<-|Hx]; [|apply Hlen; now right]. apply nth_error_Some. congruence.
  - intros n x Hn Hx Hlt. assert (H : all_at n j fs).
    { destruct Hx as [<-|Hx]; [|apply Hsync with x; cbn; auto].
      destruct (Nat.eq_dec n j) as [->|Hne]; [congruence|apply Hsync with j; cbn; auto; lia]. }
    destruct H as [H Hf]. split; auto.
  - intros n x Hx Hn. destruct (Nat.eq_dec n (S j)) as [->|Hne].
    + exact (claims_of_first _ _ _ Hk' Hloads').
    + destruct Hx as [<-|Hx]; [apply Hclaims with j|apply Hclaims with x]; cbn; auto; lia.
  - intros f b Hf Hle. destruct (Hahead f b Hf) as [Hmost _]; [lia|]. split; [cbn [phases]; lia|].
    intros Hlt. apply (over_next (Threads j fs bs ls) f b (Take ed)); auto. now intros (_ & _ & _ & _ & _ & Ho).
  - intros n b o Hn Hw Hno. destruct (Nat.eq_dec n j) as [->|Hne]; [congruence|].
    apply passed_edge with (1 := Hev). apply Hbehind; auto; [lia|]. intros m Hm. apply Hno. lia.
Qed.

Lemma in_replaced {A} (x f f' : A) before after :
  In x (before ++ f' :: after) -> x = f' \/ In x (before ++ f :: after).
Proof. rewrite !in_app_iff. cbn. intuition congruence. Qed.

Lemma inv_other j before f after bs ls ev :
  inv (Threads j (before ++ f :: after) bs ls) -> nth_error tr f = Some ev ->
  may_pass ev f j (before ++ f :: after) bs -> inv (Threads j (before ++ S f :: after) bs ls).
Proof.
  intros Hs Hev Hpass. pose proof Hs as [Hlen Hk Hloads Hsync Hclaims Hahead Hbehind].
  cbn [first others shared flying] in *. set (fs := before ++ f :: after) in *.
  assert (Hin : In f fs) by (unfold fs; apply in_or_app; cbn; auto).
  assert (Hfs : forall x, In x (j :: before ++ S f :: after) -> x = S f \/ In x (j :: fs)).
  { intros x [<-|Hx]; [right; now left|]. destruct (in_replaced x f (S f) before after Hx); [auto|right; now right]. }
  assert (Hover : forall b o, ev = Do (TryWait b o) -> j <= f -> advances b f = true ->
      phases b f = phases b j /\ over b j bs ls).
  { intros b o -> Hle Hadv. now apply (over_ahead (Threads j fs bs ls) f b o). }
  constructor; cbn [first others shared flying]; auto.
  - intros x Hx. destruct (Hfs _ Hx) as [->|Hx']; auto. apply nth_error_Some. congruence.
  - intros n x Hn Hx Hlt. assert (H : all_at n j fs).
    { destruct (Hfs _ Hx) as [->|Hx']; [|apply Hsync with x; auto].
      destruct (Nat.eq_dec n f) as [->|Hne]; [|apply Hsync with f; cbn; auto; lia].
      assert (ev = Do Sync) by congruence. subst ev. exact Hpass. }
    destruct H as [H Hf]. split; auto. unfold fs in Hf. rewrite Forall_app in *. destruct Hf as [Hb Hf].
    inversion Hf; subst. auto.
  - intros n x Hx Hn. destruct (Hfs _ Hx) as [->|Hx']; [|apply Hclaims with x; auto].
    destruct (Nat.eq_dec n (S f)) as [->|Hne]; [|apply Hclaims with f; cbn; auto; lia].
    destruct (le_lt_dec j f) as [Hle|Hlt]; [|apply Hclaims with j; cbn; auto].
    apply claims_next with (1 := Hev); [apply Hclaims with f; cbn; auto|].
    intros b Hadv c m Hc. destruct (advances_wait _ _ Hadv) as (o & _ & Hev' & _).
    destruct (Hover b o) as [Hph Ho]; auto; [congruence|].
    exact (landed_ahead (Threads j fs bs ls) f b o c m Hs Hin Hle Hph Ho Hev' Hc).
  - intros f' b Hf' Hle. destruct (in_replaced f' f (S f) before after Hf') as [->|Hx]; [|apply Hahead; auto].
    destruct (le_lt_dec j f) as [Hle'|Hlt].
    + destruct (Hahead f b Hin Hle') as [Hmost Ho]. cbn [phases]. destruct (advances b f) eqn:Hadv; [|auto].
      destruct (advances_wait _ _ Hadv) as (o & _ & Hev' & _).
      destruct (Hover b o) as [Hph Ho']; auto; [congruence|]. split; [lia|auto].
    + assert (j = S f) by lia. subst j. split; lia.
Qed.

Lemma complete_facts v is_ bs ls st :
  complete (seen v is_ bs ls) st ->
  st = seen v is_ (barriers st) (loads st) /\ map load_barrier (loads st) = map load_barrier ls /\
  (forall c l, nth_error ls c = Some l -> left l = 0 -> exists l', nth_error (loads st) c = Some l' /\ left l' = 0) /\
  (forall b, outstanding b ls = 0 -> outstanding b (loads st) = 0 /\ barriers st b = bs b) /\
  (forall b, 0 < pending (bs b) ->
    phase (barriers st b) = phase (bs b) /\ pending (barriers st b) = pending (bs b)).
Proof.
  unfold seen. intros H. inversion H as [blk is0 rs bs0 e before b k n after Hk]; subst. cbn [barriers loads].
  repeat split.
  - rewrite !map_app. reflexivity.
  - intros c l Hl H0. destruct (Nat.lt_trichotomy c (length before)) as [Hlt|[->|Hgt]].
    + exists l. split; auto. rewrite nth_error_app1 in * by lia. auto.
    + rewrite nth_error_app2, Nat.sub_diag in Hl by lia. injection Hl as <-. cbn in H0. lia.
    + exists l. split; auto. rewrite nth_error_app2 in * by lia.
      destruct (c - length before) as [|m] eqn:E; [lia|]. exact Hl.
  - rewrite outstanding_app in *. cbn [outstanding load_barrier left] in *. destruct (b =? b0); lia.
  - rewrite outstanding_app in *. cbn [outstanding load_barrier left] in *. unfold Machine.update.
    rewrite (Nat.eqb_sym b0 b). destruct (b =? b0); auto; lia.
  - unfold Machine.update. destruct (Nat.eqb_spec b0 b) as [->|]; auto. unfold add_bytes. now rewrite settle_open by (cbn; auto).
  - unfold Machine.update. destruct (Nat.eqb_spec b0 b) as [->|]; auto. unfold add_bytes. now rewrite settle_open by (cbn; auto).
Qed.

Lemma inv_land s s' : land s s' -> inv s -> inv s'.
Proof.
  intros [j fs bs ls is_ st Hc] [Hlen Hk Hloads Hsync Hclaims Hahead Hbehind]. cbn [first others shared flying] in *.
  destruct (complete_facts _ _ _ _ _ Hc) as (Hst & Hmap & Hland & Hout & Hpend).
  constructor; cbn [first others shared flying]; auto.
  - pose proof (complete_sound _ _ _ Hc Hk) as H. rewrite Hst in H. exact H.
  - congruence.
  - intros n x Hx Hn. apply claims_landing with (1 := Hland). eauto.
  - intros f b Hf Hle. destruct (Hahead f b Hf Hle) as [Hmost Hover]. split; auto. intros Hlt.
    destruct (Hover Hlt) as (acc & Hacc & Ha & Hd & Hodd & Ho). destruct (Hout b Ho) as [Ho' Hb].
    exists acc. rewrite Hb. auto.
  - intros n b o Hn Hw Hno. destruct (Hbehind n b o Hn Hw Hno) as (Hodd & Hp & Hacc).
    destruct (Hpend b Hp) as [Hphase Hp']. unfold passed. rewrite Hphase, Hp'. auto.
Qed.

Lemma inv_move s s' : move s s' -> inv s -> inv s'.
Proof.
  intros [j fs bs ls i st Hev Hpass Hrun|j fs bs ls ed Hev|j before f after bs ls ev Hev Hpass] Hs;
    eauto using inv_first, inv_edge, inv_other.
Qed.

Lemma reach_inv s : reach s -> inv s.
Proof. induction 1; eauto using inv_begin, inv_move, inv_land. Qed.

(* The theorems. *)

Lemma awaits_landed : threads_await_safely.
Proof.
  intros s x ts t c Hs Hx Hev Ht Hc. apply reach_inv in Hs.
  pose proof (inv_claims _ Hs x x Hx (le_n x)) as Hcl. pose proof (Hknow _ _ Hev) as Hk. unfold claims_known in Hcl.
  destruct (know x) as [ks acs cl]. cbn in Hk, Hcl. destruct (forallb (landed cl) ts) eqn:E; [|discriminate].
  rewrite forallb_forall in E. specialize (E _ Ht). unfold landed in E.
  destruct (lookup t cl) as [[|]|] eqn:El; try discriminate.
  destruct (Hcl _ _ El _ Hc) as (b & m & Hb & [[]|Hl]). eauto.
Qed.

Lemma least (x : nat) l : exists y, In y (x :: l) /\ forall z, In z (x :: l) -> y <= z.
Proof.
  revert x. induction l as [|z l IH]; intros x.
  - exists x. split; cbn; auto. intros z [->|[]]. lia.
  - destruct (IH x) as (y & Hy & Hleast). destruct (le_lt_dec y z) as [H|H].
    + exists y. split; [destruct Hy; cbn; auto|]. intros w [->|[->|Hw]]; auto; apply Hleast; cbn; auto.
    + exists z. split; [cbn; auto|].
      intros w [->|[->|Hw]]; auto; transitivity y; try lia; apply Hleast; cbn; auto.
Qed.

Lemma lands j fs is_ bs ls st st' :
  clos_refl_trans _ complete st st' -> st = seen (place j) is_ bs ls ->
  clos_refl_trans _ land (Threads j fs bs ls) (Threads j fs (barriers st') (loads st')) /\
  st' = seen (place j) is_ (barriers st') (loads st').
Proof.
  intros H. apply clos_rt_rt1n in H. revert bs ls. induction H as [st|st st1 st' Hc _ IH]; intros bs ls ->.
  - split; [apply rt_refl|reflexivity].
  - destruct (complete_facts _ _ _ _ _ Hc) as (Hst & _). destruct (IH _ _ Hst) as [Hl Hst']. split; auto.
    eapply rt_trans; [apply rt_step, (Land _ _ _ _ _ _ Hc)|exact Hl].
Qed.

Lemma first_waits j fs bs ls b o :
  knows j bs ls -> nth_error tr j = Some (Do (TryWait b o)) ->
  exists s' s'', clos_refl_trans _ land (Threads j fs bs ls) s' /\ move s' s''.
Proof.
  intros (Hrs & Hacs & _) Hev. pose proof (Hknow _ _ Hev) as Hk.
  assert (H : exists st st', clos_refl_trans _ complete (seen (place j) [TryWait b o] bs ls) st /\
      run_instr (TryWait b o) st st').
  { destruct (know j) as [ks acs cl]. cbn [known_accounts known_registers] in *. cbn in Hk.
    destruct (lookup b acs) as [[[n q a d l f w]|]|] eqn:E; try discriminate. destruct f; [discriminate|].
    pose proof (Hacs _ _ E) as Hb. unfold account_holds in Hb. destruct (Nat.eqb_spec a 0) as [->|Hne].
    - destruct (same ks q (operand_parity o) && (d =? 0)%Z) eqn:Hq; [|discriminate].
      apply andb_true_iff in Hq as [Hq Hd]. apply (same_sound _ _ _ _ Hrs) in Hq. apply Z.eqb_eq in Hd. subst.
      rewrite Hq, value_operand in Hb.
      exact (wait_ends n b o l _ (seen (place j) [TryWait b o] bs ls) [] (le_n _) eq_refl Hb).
    - destruct same eqn:Hq; [|discriminate]. apply (same_sound _ _ _ _ Hrs) in Hq.
      rewrite value_invert, value_operand in Hq. destruct Hb as (_ & _ & _ & [(Hodd & _)|(H & _)]); [|lia].
      eexists. eexists. split; [apply rt_refl|]. apply RunTryWait. cbn [seen barriers regs] in *.
      rewrite Hodd, <- Hq. now destruct value. }
  destruct H as (st & st' & Hland & Hrun). destruct (lands j fs _ _ _ _ _ Hland eq_refl) as [Hl Hst].
  rewrite Hst in Hrun. eexists. eexists. split; [exact Hl|]. eapply MoveFirst with (1 := Hev); [|exact Hrun].
  unfold seen in Hrun. inversion Hrun; subst. assumption.
Qed.

Lemma some_moves : threads_move_on.
Proof.
  intros s Hreach (x & Hx & Hlen). apply reach_inv in Hreach. destruct s as [j fs bs ls]. cbn [first others] in *.
  destruct (least j fs) as (y & Hy & Hleast). assert (Hylen : y < length tr) by (specialize (Hleast _ Hx); lia).
  destruct (nth_error tr y) as [ev|] eqn:Hev; [|apply nth_error_None in Hev; lia].
  assert (Hall : forall n, y <= n -> all_at y n fs).
  { intros n Hn. split; auto. apply Forall_forall. intros f Hf. apply Hleast. now right. }
  destruct (Nat.eq_dec y j) as [->|Hne].
  - destruct ev as [i|ed]; [|eexists; eexists; split; [apply rt_refl|eapply MoveFirstEdge; eassumption]].
    destruct i.
    6: { eapply first_waits; [exact (inv_knows _ Hreach)|exact Hev]. }
    all: eexists; eexists; (split; [apply rt_refl|]); eapply MoveFirst with (1 := Hev); [cbn; auto|];
      unfold seen; constructor.
  - destruct Hy as [->|Hy]; [congruence|]. destruct (in_split _ _ Hy) as (before & after & ->).
    eexists; eexists. split; [apply rt_refl|]. apply MoveOther with (1 := Hev).
    assert (Hyj : y < j) by (specialize (Hleast j (or_introl eq_refl)); lia).
    destruct ev as [[]|]; cbn; auto; [|apply Hall; lia].
    destruct (inv_behind _ Hreach y b o Hyj Hev) as [H _]; auto.
    intros m Hm Hsync. cbn [first] in Hm.
    destruct (inv_sync _ Hreach m j Hsync) as [_ Hf]; [now left|lia|].
    cbn [others] in Hf. rewrite Forall_forall in Hf. specialize (Hf y Hy). lia.
Qed.

End Way.

(* What the checker says of a way. *)
Lemma way_known p cert b is_ evs :
  check p cert = true -> way p b is_ evs ->
  forall nd blk k k', In nd cert -> nth_error p b = Some blk -> run is_ k = Some k' ->
    check_edges cert k' (edges blk) (succs nd) = true ->
    exists know, know 0 = k /\ forall n ev, nth_error evs n = Some ev -> follows ev (know n) (know (S n)).
Proof.
  intros Hcheck Hway. induction Hway as [b is_|b i is_ evs Hway IH|b blk0 ed blk' evs Hblk0 Hin Hblk' Hway IH];
    intros nd blk k k' Hnd Hblk Hrun He.
  - exists (fun _ => k). split; auto. intros [|n]; discriminate.
  - cbn in Hrun. destruct (run_knowledge i k) as [k1|] eqn:E; [|discriminate].
    destruct (IH nd blk k1 k') as (know & H0 & H); auto.
    exists (fun n => match n with 0 => k | S n => know n end). split; auto.
    intros [|n] ev Hev; [injection Hev as <-; cbn; now rewrite H0|exact (H n ev Hev)].
  - cbn in Hrun. injection Hrun as <-. assert (blk0 = blk) by congruence. subst blk0.
    destruct (check_edges_in _ _ _ _ _ He Hin) as [s Hs]. unfold check_edge in Hs.
    destruct (nth_error cert s) as [nd'|] eqn:Es; [|discriminate]. apply nth_error_In in Es.
    rewrite !andb_true_iff in Hs. destruct Hs as [[[Hb Hr] Ha] Hc]. apply Nat.eqb_eq in Hb.
    assert (Hnode : check_node p cert nd' = true).
    { destruct cert as [|entry cert]; [discriminate|]. unfold check in Hcheck. apply andb_true_iff in Hcheck as [_ Hall].
      rewrite forallb_forall in Hall. auto. }
    unfold check_node in Hnode. rewrite Hb, Hblk' in Hnode.
    destruct (run (instrs blk') (Known (registers nd') (accounts nd') (claims nd'))) as [k1|] eqn:E; [|discriminate].
    destruct (IH nd' blk' _ k1 Es Hblk' E Hnode) as (know & H0 & H).
    exists (fun n => match n with 0 => k | S n => know n end). split; auto.
    intros [|n] ev Hev; [injection Hev as <-; cbn; rewrite H0; auto|exact (H n ev Hev)].
Qed.

Theorem check_threads p cert blk tr :
  check p cert = true -> nth_error p 0 = Some blk -> way p 0 (instrs blk) tr ->
  forall rs e, threads_await_safely tr rs e /\ threads_move_on tr rs e.
Proof.
  intros Hcheck Hblk Hway rs e. pose proof Hcheck as Hc. destruct cert as [|entry cert]; [discriminate|]. unfold check in Hc.
  apply andb_true_iff in Hc as [Hentry Hall]. rewrite forallb_forall in Hall. unfold is_entry in Hentry.
  rewrite !andb_true_iff in Hentry. destruct Hentry as [[Hb Hacs] Hnil]. apply Nat.eqb_eq in Hb.
  destruct (registers entry) eqn:Er; [|discriminate]. destruct (claims entry) eqn:Ec; [|discriminate].
  assert (Hin : In entry (entry :: cert)) by (cbn; auto). pose proof (Hall _ Hin) as Hnode. unfold check_node in Hnode.
  rewrite Hb, Hblk in Hnode.
  destruct (run (instrs blk) (Known (registers entry) (accounts entry) (claims entry))) as [k|] eqn:E; [|discriminate].
  destruct (way_known _ _ _ _ _ Hcheck Hway entry blk _ k Hin Hblk E Hnode) as (know & H0 & Hknow).
  assert (Hbegin : known_registers (know 0) = [] /\ known_claims (know 0) = [] /\
    forall b acc, lookup b (known_accounts (know 0)) = Some acc -> acc = None).
  { rewrite H0. cbn. repeat split; auto. intros b acc Hl. rewrite forallb_forall in Hacs.
    specialize (Hacs _ (lookup_in _ _ _ Hl)). cbn in Hacs. destruct acc; [discriminate|reflexivity]. }
  split; [eapply awaits_landed|eapply some_moves]; eauto.
Qed.
