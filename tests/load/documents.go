package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/writ-policy/writ"
)

// variants is how many documents alternate. In variant N the user load-N alone is
// granted, at every point, and a deny policy names the resource widgets-N.
const variants = 4

// documents is a policy directory whose last file changes.
type documents struct {
	folder string
	// revisions are the variants by the revision that they result in.
	revisions map[string]int
}

const changing = "load.yaml"

// text is a variant. It is flow style, so that no part of it is a document.
func text(n int) string {
	return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: load},
  rules: [{verbs: [get, delete], apiGroups: [load.example], resources: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: load},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: load},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: load-%[1]d}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: load-all}]}
---
{apiVersion: breakglass.t-caas.telekom.com/v1alpha1, kind: DenyPolicy, metadata: {name: load},
  spec: {rules: [{verbs: [delete], apiGroups: [load.example], resources: [widgets-%[1]d]}]}}
---
{apiVersion: clusterpulse.io/v1alpha1, kind: MonitorAccessPolicy, metadata: {name: load, namespace: load},
  spec: {identity: {priority: 5, subjects: {users: [load-%[1]d]}}, access: {effect: Allow},
    scope: {clusters: {rules: [{selector: {matchNames: [load]}, permissions: {view: true}}]}}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: load, namespace: load},
  spec: {gatewayClassName: any, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: load, namespace: load}, spec: {parentRefs: [{name: load}], rules: [{name: all}]}}
---
{apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: load, namespace: load},
  spec: {targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: load},
    rules: {authorization: {one: {patternMatching: {patterns: [{selector: auth.identity.sub, operator: eq, value: load-%[1]d}]}}}}}}
`, n)
}

// newDocuments copies a policy directory, and loads each variant beside it for its
// revision. The directory has variant 0.
func newDocuments(ctx context.Context, policies string) (*documents, error) {
	folder, err := os.MkdirTemp("", "writ-load-")
	if err != nil {
		return nil, err
	}
	d := &documents{folder: folder, revisions: make(map[string]int)}
	if err := os.CopyFS(folder, os.DirFS(policies)); err != nil {
		d.remove()
		return nil, err
	}
	for n := variants - 1; n >= 0; n-- {
		loaded, err := d.load(ctx, n)
		if err != nil {
			d.remove()
			return nil, fmt.Errorf("variant %d: %w", n, err)
		}
		d.revisions[loaded] = n
	}
	return d, nil
}

// load saves a variant and returns its revision.
func (d *documents) load(ctx context.Context, n int) (revision string, err error) {
	if err := d.save([]byte(text(n))); err != nil {
		return "", err
	}
	loaded, err := writ.Load(ctx, d.folder, writ.Options{})
	if err != nil {
		return "", err
	}
	return loaded.Revision(), loaded.Close()
}

func (d *documents) remove() { _ = os.RemoveAll(d.folder) }

// save overwrites the file where it stands. All variants have the same length, so that
// one write replaces one by another: a file that has parts of two could be valid.
func (d *documents) save(content []byte) error {
	file, err := os.OpenFile(filepath.Join(d.folder, changing), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	return errors.Join(err, file.Close())
}

// saveEach saves documents in turn until the context ends: a variant, an invalid one that
// is longer, a half of it, and another variant.
func (d *documents) saveEach(ctx context.Context, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := error(nil)
		switch content := text(n / 2 % variants); n % 4 {
		case 0, 3:
			err = d.save([]byte(content))
		case 1:
			err = d.save([]byte("{kind: Role, rules: get}\n---\n" + content))
		case 2:
			err = os.Truncate(filepath.Join(d.folder, changing), int64(len(content)/2))
		}
		if err != nil {
			return err
		}
	}
}
