(* Certificates, and the checker as a function. *)

From Coq Require Import List Arith Bool.
From AsyncOpt Require Import Machine.
Import ListNotations.

(* Certificates. *)

(* (start, step) is the set of start + k * step for every k. *)
Definition progression := (nat * nat)%type.

(* For each FIFO that a copy in flight may be of, the least age that it may have. *)
Definition ages := list (fifo * nat).

Definition claim := (token * ages)%type.

Record node := Node {
  node_block : nat;
  context : list (loop * progression); (* what the counters may be *)
  claims : list claim; (* nothing is known of a token without one *)
  succs : list (option nat) }. (* by edge of the block: a node, or none where the edge is never taken or leaves *)

Definition certificate := list node.

(* Counters. *)

Definition member (x : nat) (p : progression) : bool :=
  let (start, step) := p in
  if step =? 0 then x =? start else (start <=? x) && ((x - start) mod step =? 0).

(* Returns true if p is a subset of p'. *)
Definition subset (p p' : progression) : bool :=
  member (fst p) p' &&
  (if snd p' =? 0 then snd p =? 0 else snd p mod snd p' =? 0).

Definition enters (k : kind) (l : loop) : bool := match k with Enter l' => l' =? l | _ => false end.
Definition goes_back (k : kind) (l : loop) : bool := match k with Back l' => l' =? l | _ => false end.

(* The counter of l after an edge. *)
Definition count_after (k : kind) (ctx : list (loop * progression)) (l : loop) : option progression :=
  if enters k l then Some (0, 0)
  else match lookup l ctx with
    | Some (start, step) => Some (if goes_back k l then S start else start, step)
    | None => None
    end.

Definition context_follows (k : kind) (ctx : list (loop * progression)) (entry : loop * progression) : bool :=
  match count_after k ctx (fst entry) with
  | Some p => subset p (snd entry)
  | None => false
  end.

(* Returns true if no counter allows the edge. *)
Definition impossible (ns : list nat) (ctx : list (loop * progression)) (k : kind) : bool :=
  match k with
  | Plain => false
  | Enter l =>
      match nth_error ns l with
      | Some n => n =? 0
      | None => false
      end
  | Back l =>
      match nth_error ns l, lookup l ctx with
      | Some n, Some (start, _) => n <=? S start
      | _, _ => false
      end
  | Exit l =>
      match nth_error ns l with
      | Some n =>
          (n =? 0) ||
          match lookup l ctx with
          | Some p => negb (member (n - 1) p)
          | None => false
          end
      | None => false
      end
  end.

(* Claims. *)

Definition remove {A} (t : nat) (cl : list (nat * A)) : list (nat * A) :=
  filter (fun c => negb (fst c =? t)) cl.

Definition set {A} (t : nat) (v : A) (cl : list (nat * A)) : list (nat * A) := (t, v) :: remove t cl.

Definition map_ages (f : ages -> ages) (cl : list claim) : list claim :=
  map (fun c => (fst c, f (snd c))) cl.

Definition commit (f : fifo) (gs : ages) : ages :=
  map (fun g => (fst g, if fst g =? f then S (snd g) else snd g)) gs.

Definition waited (f : fifo) (n : nat) (g : fifo * nat) : bool := (fst g =? f) && (n <? snd g).

Definition wait (f : fifo) (n : nat) (gs : ages) : ages :=
  filter (fun g => negb (waited f n g)) gs.

(* Returns true if every copy of t has landed. *)
Definition complete (cl : list claim) (t : token) : bool :=
  match lookup t cl with Some [] => true | _ => false end.

Fixpoint insert (f : fifo) (a : nat) (gs : ages) : ages :=
  match gs with
  | [] => [(f, a)]
  | (f', a') :: gs => if f' =? f then (f, min a a') :: gs else (f', a') :: insert f a gs
  end.

(* The least age of each FIFO in any of the claims of ts. *)
Fixpoint join (cl : list claim) (ts : list token) : option ages :=
  match ts with
  | [] => Some []
  | t :: ts =>
      match lookup t cl, join cl ts with
      | Some gs, Some gs' => Some (fold_right (fun g => insert (fst g) (snd g)) gs' gs)
      | _, _ => None
      end
  end.

Definition run_claims (i : instr) (cl : list claim) : option (list claim) :=
  match i with
  | Issue f t => Some (set t [(f, 0)] cl)
  | Commit f => Some (map_ages (commit f) cl)
  | Wait f n => Some (map_ages (wait f n) cl)
  | Await ts => if forallb (complete cl) ts then Some cl else None
  | Join t ts =>
      Some match join cl ts with
        | Some gs => set t gs cl
        | None => remove t cl
        end
  end.

Fixpoint run (is_ : list instr) (cl : list claim) : option (list claim) :=
  match is_ with
  | [] => Some cl
  | i :: is_ => match run_claims i cl with Some cl => run is_ cl | None => None end
  end.

(* Returns true if gs' claims no more than g does. *)
Definition weakens (gs' : ages) (g : fifo * nat) : bool :=
  match lookup (fst g) gs' with
  | Some a => a <=? snd g
  | None => false
  end.

(* Returns true if a claim at the target of an edge follows from those at its end. *)
Definition claim_follows (cl : list claim) (ps as_ : list token) (c : claim) : bool :=
  match lookup (source ps as_ (fst c)) cl with
  | Some gs => forallb (weakens (snd c)) gs
  | None => false
  end.

(* The checker. *)

Definition check_edge (p : code) (cert : certificate) (ctx : list (loop * progression)) (cl : list claim)
    (e : edge) (succ : option nat) : bool :=
  match target e, succ with
  | None, None => true
  | None, Some _ => false
  | Some _, None => impossible (trips p) ctx (edge_kind e)
  | Some b, Some m =>
      match nth_error (blocks p) b, nth_error cert m with
      | Some blk, Some nd =>
          (node_block nd =? b) &&
          (length (args e) =? length (params blk)) &&
          forallb (context_follows (edge_kind e) ctx) (context nd) &&
          forallb (claim_follows cl (params blk) (args e)) (claims nd)
      | _, _ => false
      end
  end.

Fixpoint check_edges (p : code) (cert : certificate) (ctx : list (loop * progression)) (cl : list claim)
    (es : list edge) (ss : list (option nat)) : bool :=
  match es, ss with
  | [], [] => true
  | e :: es, s :: ss => check_edge p cert ctx cl e s && check_edges p cert ctx cl es ss
  | _, _ => false
  end.

Definition check_node (p : code) (cert : certificate) (nd : node) : bool :=
  match nth_error (blocks p) (node_block nd) with
  | Some blk =>
      match run (instrs blk) (claims nd) with
      | Some cl => check_edges p cert (context nd) cl (edges blk) (succs nd)
      | None => false
      end
  | None => false
  end.

(* Returns true if a node claims nothing and is of the block where the code begins. *)
Definition is_entry (nd : node) : bool :=
  (node_block nd =? 0) &&
  match context nd, claims nd with [], [] => true | _, _ => false end.

Definition check (p : code) (cert : certificate) : bool :=
  match cert with
  | [] => false
  | entry :: _ => is_entry entry && forallb (check_node p cert) cert
  end.
