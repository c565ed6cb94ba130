package kube

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/source"
)

// watched is a source that is watched until the end of the test.
type watched struct {
	*Source
	notices chan struct{}
}

func (a *apiServer) watched(t *testing.T, change func(o *Options)) *watched {
	t.Helper()
	w := &watched{a.open(t, "kube:", change), make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Watch(ctx, func() { w.notices <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-ended)
	})
	w.notices <- <-w.notices // before it, a snapshot lists
	return w
}

const patience = time.Minute

// until waits for a notice after which a snapshot is as wanted.
func (w *watched) until(t *testing.T, what string, is func(s source.Snapshot, list diag.List, err error) bool) {
	t.Helper()
	end := time.After(patience)
	for {
		s, list, err := w.Snapshot(t.Context())
		if is(s, list, err) {
			return
		}
		select {
		case <-w.notices:
		case <-end:
			t.Fatalf("%s: got %d objects, %v, error %v", what, len(s.Files), list, err)
		}
	}
}

// has waits for the objects with these paths.
func (w *watched) has(t *testing.T, want string) {
	t.Helper()
	w.until(t, want, func(s source.Snapshot, _ diag.List, err error) bool {
		var paths []string
		for _, f := range s.Files {
			paths = append(paths, f.Path)
		}
		return err == nil && strings.Join(paths, " ") == want
	})
}

func eachProtocol(t *testing.T, test func(t *testing.T, a *apiServer)) {
	t.Helper()
	for name, streams := range map[string]bool{"lists": false, "streams": true} {
		t.Run(name, func(t *testing.T) {
			a := newAPIServer(t)
			a.streams = streams
			test(t, a)
		})
	}
}

func TestWatchFollowsChanges(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *apiServer) {
		a.set(func() {
			a.put("roles", "shop", "b", rules)
			a.put("roles", "shop", "d", rules)
		})
		w := a.watched(t, nil)
		w.has(t, "kube:Role/shop/b kube:Role/shop/d")
		lists := a.count("list roles")
		a.set(func() {
			a.put("roles", "shop", "a", rules)
			a.put("roles", "shop", "c", rules)
			a.remove("roles", "shop/d")
		})
		w.has(t, "kube:Role/shop/a kube:Role/shop/b kube:Role/shop/c")
		a.set(func() { a.put("roles", "shop", "b", object{"rules": []any{}}) })
		w.until(t, "the change of b", func(s source.Snapshot, _ diag.List, err error) bool {
			return err == nil && strings.Contains(string(s.Files[1].Content.Bytes()), `"rules":[]`)
		})
		a.set(func() { a.put("clusterroles", "", "x", rules) })
		w.has(t, "kube:ClusterRole/x kube:Role/shop/a kube:Role/shop/b kube:Role/shop/c")
		if n := a.count("list roles") - lists; n != 0 {
			t.Errorf("listed %d times more, want none: one event is one object", n)
		}
	})
}

// What is not policy changes all the time.
func TestWatchIgnoresStatus(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() { a.put("roles", "shop", "a", rules) })
	w := a.watched(t, nil)
	w.has(t, "kube:Role/shop/a")
	a.set(func() {
		a.put("roles", "shop", "a", object{"rules": rules["rules"], "status": object{"seen": 1}})
		a.put("rolebindings", "shop", "last", nil) // another watch: its event may come first
	})
	w.has(t, "kube:Role/shop/a kube:RoleBinding/shop/last")
	a.set(func() { a.put("roles", "shop", "b", rules) }) // after the first change of its watch
	w.has(t, "kube:Role/shop/a kube:Role/shop/b kube:RoleBinding/shop/last")
	w.mu.Lock()
	m := w.watch
	w.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, m := range m.byKind {
		if r.label == "Role" && len(m.dirty) != 0 {
			t.Errorf("got changes %v, want none", m.dirty)
		}
	}
}

// A connection can stay open for long after its API server is gone.
func TestWatchNoticesALostAPIServer(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() { a.put("roles", "shop", "a", rules) })
	w := a.watched(t, func(o *Options) { o.Rescan = time.Hour })
	w.has(t, "kube:Role/shop/a")
	a.set(func() { a.silent = true })
	began := time.Now()
	w.until(t, "an error", func(_ source.Snapshot, _ diag.List, err error) bool {
		return err != nil && strings.Contains(err.Error(), "the API server does not answer")
	})
	if took := time.Since(began); took > probeEvery+2*probeTimeout {
		t.Errorf("noticed after %s", took)
	}
	a.set(func() { a.silent = false })
	w.has(t, "kube:Role/shop/a")
}

func TestWatchContinuesAfterABreak(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *apiServer) {
		a.set(func() { a.put("roles", "shop", "a", rules) })
		w := a.watched(t, nil)
		w.has(t, "kube:Role/shop/a")
		a.set(func() {
			a.cutAll()
			a.oldest = a.version + 1 // nothing can be continued: all is listed again
			a.version++
			a.put("roles", "shop", "b", rules)
			a.remove("roles", "shop/a")
		})
		a.CloseClientConnections()
		w.has(t, "kube:Role/shop/b")
		a.set(func() { a.put("roles", "shop", "c", rules) })
		w.has(t, "kube:Role/shop/b kube:Role/shop/c")
	})
}

func TestWatchWhileTheServerIsGone(t *testing.T) {
	eachProtocol(t, func(t *testing.T, a *apiServer) {
		a.set(func() { a.put("roles", "shop", "a", rules) })
		w := a.watched(t, nil)
		w.has(t, "kube:Role/shop/a")
		a.leave()
		w.until(t, "an error", func(_ source.Snapshot, _ diag.List, err error) bool {
			return err != nil && strings.Contains(err.Error(), "connection refused")
		})
		a.set(func() { a.gone = false; a.put("roles", "shop", "b", rules); a.oldest = a.version })
		w.has(t, "kube:Role/shop/a kube:Role/shop/b")
	})
}

func TestWatchBeginsWithoutAServer(t *testing.T) {
	a := newAPIServer(t)
	a.leave()
	w := a.watched(t, nil)
	w.until(t, "an error", func(_ source.Snapshot, _ diag.List, err error) bool { return err != nil })
	a.set(func() { a.gone = false; a.put("roles", "shop", "a", rules) })
	w.has(t, "kube:Role/shop/a")
}

func TestPermissionsComeAndGo(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() {
		a.put("roles", "shop", "a", rules)
		a.forbidden["list roles"], a.forbidden["watch roles"] = true, true
	})
	w := a.watched(t, nil)
	w.until(t, "an error", func(_ source.Snapshot, _ diag.List, err error) bool {
		return err != nil && strings.Contains(err.Error(), `grant the verbs list and watch on resource "roles"`)
	})
	a.set(func() { clear(a.forbidden) })
	w.has(t, "kube:Role/shop/a")
}

func TestKindsComeAndGo(t *testing.T) {
	a := newAPIServer(t)
	a.set(func() { a.put("roles", "shop", "a", rules); a.put("authpolicies", "net", "edge", nil) })
	w := a.watched(t, nil)
	w.has(t, "kube:Role/shop/a")
	a.set(func() { a.served["kuadrant.io/v1"] = []string{"authpolicies/AuthPolicy/namespaced"} })
	w.has(t, "kube:AuthPolicy/net/edge kube:Role/shop/a")
	// A server that is not ready does not serve its custom resources yet.
	a.set(func() { a.unready = true; delete(a.served, "kuadrant.io/v1") })
	w.until(t, "an error", func(_ source.Snapshot, _ diag.List, err error) bool {
		return err != nil && strings.Contains(err.Error(), "/readyz")
	})
	a.set(func() {
		a.unready = false
		a.served["kuadrant.io/v1beta2"] = []string{"authpolicies/AuthPolicy/namespaced"}
	})
	w.until(t, "unknown-kind", func(_ source.Snapshot, list diag.List, err error) bool {
		return err == nil && slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.UnknownKind })
	})
	a.set(func() { delete(a.served, "kuadrant.io/v1beta2") })
	w.until(t, "the kind is not served", func(s source.Snapshot, list diag.List, err error) bool {
		return err == nil && len(list) == 0 && len(s.Files) == 1 && slices.Contains(s.Origins[0].Unserved, "AuthPolicy.kuadrant.io")
	})
}

// A burst of changes is one notice.
func TestWatchSettles(t *testing.T) {
	a := newAPIServer(t)
	w := a.watched(t, func(o *Options) { o.Settle = time.Second; o.Rescan = time.Hour })
	<-w.notices
	w.has(t, "")
	a.set(func() {
		for _, name := range []string{"a", "b", "c", "d"} {
			a.put("roles", "shop", name, rules)
		}
	})
	w.has(t, "kube:Role/shop/a kube:Role/shop/b kube:Role/shop/c kube:Role/shop/d")
	if n := len(w.notices); n > 1 {
		t.Errorf("got %d further notices, want at most one", n)
	}
}

func TestOneWatchAtATime(t *testing.T) {
	w := newAPIServer(t).watched(t, nil)
	w.has(t, "")
	if err := w.Watch(t.Context(), func() {}); err == nil {
		t.Error("got no error")
	}
}
