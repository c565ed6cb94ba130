package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The goals of paths and of smaller documents. Beyond is the time of a diff with paths without
// that of one that has none.
const (
	goalReach       = "reach of cluster-admin, %d bindings, %d deny policies"
	goalReachMemory = "memory of these paths, %d bindings"
	goalReachDiff   = "diff --reach of %d documents, 10 changed, beyond diff"
	goalShrink      = "shrink of %d documents, %d events"
	goalShrinkBytes = "memory of that shrink, x that of a tenth of the events"
)

const (
	reachBindings   = 10_000
	shrinkDocuments = 1000
	shrinkEvents    = 1_000_000
)

func reachGoals() []goal {
	return []goal{
		{name: fmt.Sprintf(goalReach, reachBindings, 0), unit: "s", limit: 5},
		{name: fmt.Sprintf(goalReach, reachBindings, 100), unit: "s", limit: 8},
		{name: fmt.Sprintf(goalReachMemory, reachBindings), unit: "MiB", limit: 1024},
		{name: fmt.Sprintf(goalReachDiff, reachBindings), unit: "s", limit: 5},
		{name: fmt.Sprintf(goalShrink, shrinkDocuments, shrinkEvents), unit: "s", limit: 180},
		{name: goalShrinkBytes, unit: "x", limit: 1.1},
	}
}

// paths measures writ reach without and with deny policies, writ diff --reach after an edit,
// and writ shrink.
func paths(r *results, o options) error {
	r.goals = reachGoals()
	r.printf("\n%d roles and %d bindings, %d namespaces\n", reachBindings, reachBindings, reachBindings/10)
	err := inWorld(reachBindings, documentsPerFile, func(w *world) error {
		if err := w.robots(); err != nil {
			return err
		}
		for _, policies := range []int{0, 100} {
			remove, err := w.deny(policies)
			if err != nil {
				return err
			}
			found, err := r.command(fmt.Sprintf("reach, %d deny policies", policies), o.writ, "reach", w.dir, "--to", "cluster-admin", "-o", "json")
			remove()
			if err != nil {
				return err
			}
			r.reached(found.seconds, goalReach, w.n, policies)
			r.reached(found.peak, goalReachMemory, w.n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.printf("\n%d documents\n", reachBindings)
	err = inWorld(reachBindings/2, documentsPerFile, func(w *world) error {
		return inWorld(w.n, documentsPerFile, func(b *world) error {
			if err := errors.Join(w.robots(), b.robots(), b.edit()); err != nil {
				return err
			}
			diff, err := r.command("diff --bootstrap-roles kubernetes", o.writ, "diff", w.dir, b.dir, "--bootstrap-roles", "kubernetes", "--fail-on", "none", "-o", "json")
			if err != nil {
				return err
			}
			compared, err := r.command("diff --reach", o.writ, "diff", w.dir, b.dir, "--reach", "--fail-on", "none", "-o", "json")
			r.reached(max(0, compared.seconds-diff.seconds), goalReachDiff, 2*w.n)
			return err
		})
	})
	if err != nil {
		return err
	}
	r.printf("\n%d documents\n", shrinkDocuments)
	err = inWorld(shrinkDocuments/2, documentsPerFile, func(w *world) error {
		return r.shrinks(w, o)
	})
	r.printGoals(true)
	return err
}

// robots adds an account to every tenth namespace: one in ten of them is an administrator of
// the cluster, the others are administrators of their namespace. Subjects that may create pods
// there become one.
func (w *world) robots() error {
	var text strings.Builder
	for i := 0; i < w.n/10; i += 10 {
		kind, metadata := "RoleBinding", fmt.Sprintf("{name: robot, namespace: ns-%d}", i)
		if i%100 == 0 {
			kind, metadata = "ClusterRoleBinding", fmt.Sprintf("{name: robot-%d}", i)
		}
		fmt.Fprintf(&text, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: %s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: ns-%d, name: robot}]
`, kind, metadata, i)
	}
	return os.WriteFile(filepath.Join(w.dir, "robots.yaml"), []byte(text.String()), 0o644)
}

// shrinks measures shrink by a log and by its first tenth.
func (r *results) shrinks(w *world, o options) error {
	log := filepath.Join(w.scratch, "audit.log")
	var tenth usage
	for _, events := range []int{shrinkEvents / 10, shrinkEvents} {
		if err := w.audit(log, events); err != nil {
			return err
		}
		all, err := r.command(fmt.Sprintf("shrink, %d events", events), o.writ, "shrink", "--log", log, "--force", "--grace", "0", "--dry-run", "-o", "json", w.dir)
		if err != nil {
			return err
		}
		if events < shrinkEvents {
			tenth = all
			continue
		}
		r.reached(all.seconds, goalShrink, shrinkDocuments, events)
		r.reached(all.peak/tenth.peak, goalShrinkBytes)
	}
	return nil
}
