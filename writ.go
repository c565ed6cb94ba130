// Package writ embeds writ in a Go program: it loads a policy directory or a built
// bundle, and decides requests by it. Follow also reloads a directory when its
// documents change.
//
// This package, the types it names, and package client are the only API that is promised
// to stay compatible. Every other package of the module may change in any release.
//
// # Design
//
// A Policies is one handle for all points. Each call is answered by the revision that
// is active when it begins, so a reload never affects a call in progress. The request
// and decision types are those of every endpoint of the server, as aliases: a second
// set of types would have to be converted for each request. An evaluation error is part
// of a decision, which then denies; a Go error means that the request is invalid.
package writ

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/writ-policy/writ/bundles"
	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/engine"
	"github.com/writ-policy/writ/server/reload"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/settings"
	"github.com/writ-policy/writ/translator/source"
)

// Requests and decisions of the three points.
type (
	// AccessRequest asks whether a subject may do something. Verb, Resource or Path, and
	// User or Groups are required.
	AccessRequest = decision.Request
	// AccessDecision is the answer. Its zero value allows nothing.
	AccessDecision = decision.Decision
	// VisibilityRequest asks what a principal may see of a cluster.
	VisibilityRequest = decision.VisibilityRequest
	// VisibilityDecision is the answer.
	VisibilityDecision = decision.VisibilityDecision
	// Cluster is the cluster of a VisibilityRequest.
	Cluster = decision.Cluster
	// Item is an element of the list of a VisibilityRequest.
	Item = decision.Item
	// GatewayRequest has the attributes of a request through a gateway, by Envoy's names.
	GatewayRequest = decision.GatewayRequest
	// GatewayDecision is the answer.
	GatewayDecision = decision.GatewayDecision
	// InvalidRequest is the error of a request that is malformed. Its Field names the key.
	InvalidRequest = decision.InvalidRequest
	// Diagnostic is a mistake in a document, with file, line and column.
	Diagnostic = reload.Diagnostic
)

// Options configure how documents are read and requests are evaluated. The zero value
// is ready to use. Options that are not zero take precedence over the file ".writ.yaml" of
// the directory.
type Options struct {
	// Also are further policy directories: the union of all is one revision, and each has
	// its own settings. Two that declare the same document are a mistake.
	Also []string
	// MasterNamespace is the namespace whose Origin roles and bindings are valid in
	// every namespace. Empty means "master".
	MasterNamespace string
	// AllowEmpty accepts a directory without a single policy document.
	AllowEmpty bool
	// StrictRoutes makes it an error that routes of two namespaces match the same requests,
	// and StrictKinds that a document is of another kind.
	StrictRoutes, StrictKinds bool
	// ForbidUnset makes it an error that a gateway policy unsets rules of higher policies.
	ForbidUnset bool
	// DefaultNamespace is the namespace of documents of namespaced kinds that have none,
	// except Origin ones. Empty means that such documents are mistakes.
	DefaultNamespace string
	// BootstrapRoles adds the roles and bindings that every Kubernetes API server makes, if
	// it is "kubernetes", the stock roles of Origin, if it is "origin", and both, if it is
	// "kubernetes,origin". Empty adds none.
	BootstrapRoles string
	// ImpliedGroups adds the groups to requests at the point access that every Kubernetes API
	// server adds to its users, if it is "kubernetes". "none" adds none, whatever the
	// directory states.
	ImpliedGroups string
	// ClusterExport accepts references to roles and targets that do not exist, as a cluster
	// does: they are in force nowhere.
	ClusterExport bool
	// NoIgnore reads the files that ".writignore" and ".writ.yaml" leave out.
	NoIgnore bool
	// Timeout bounds an evaluation, which is denied after it. Zero means 2 seconds.
	Timeout time.Duration
	// Now is the clock of evaluations. Nil means time.Now.
	Now func() time.Time
	// Keys is a file of keys, one of which must have signed a bundle. Empty means that
	// signatures are not verified. Only OpenBundle uses it.
	Keys string
	// Settle is how long a directory must stay unchanged before Follow reads it. Zero
	// reads it at once.
	Settle time.Duration
	// OnReload is called by Follow after each attempt to load the documents, the first
	// one included: with the active revision, and with an error if the documents were
	// rejected and the previous revision stays active. Calls do not overlap. Nil means
	// none.
	OnReload func(revision string, err error)
	// Logger receives the log of reloads. Nil discards it.
	Logger *slog.Logger
}

// Policies decides requests. It is safe for concurrent use.
type Policies struct {
	current func() decision.Policies
	close   func() error
}

// DocumentsError is the error of a directory whose documents have mistakes.
type DocumentsError struct {
	// Diagnostics are the first mistakes and warnings, in the order of their positions.
	Diagnostics []Diagnostic
	// Errors is the number of all mistakes.
	Errors int
}

// Error returns the number of mistakes and the first of them.
func (e *DocumentsError) Error() string {
	for _, d := range e.Diagnostics {
		if d.Severity == "error" {
			return fmt.Sprintf("the documents have errors (%d): %s: %s", e.Errors, diag.Position{File: d.File, Line: d.Line, Column: d.Column, Field: d.Field}, d.Message)
		}
	}
	return fmt.Sprintf("the documents have errors (%d)", e.Errors)
}

// Load reads the policy directory dir once. It returns a *DocumentsError if documents
// have mistakes, and another error if the directory cannot be read or ctx is done.
func Load(ctx context.Context, dir string, o Options) (*Policies, error) {
	r, err := load(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return &Policies{current: r.Current, close: func() error { return nil }}, nil
}

// Follow is like Load, and then reloads the directory when its documents change, until
// Close. If changed documents have mistakes, the last good revision stays active.
// Cancelling ctx after Follow has returned has no effect.
func Follow(ctx context.Context, dir string, o Options) (*Policies, error) {
	r, err := load(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		// A change between load and the begin of the watch would be missed otherwise.
		_ = r.Reload(background)
		done <- r.Run(background)
	}()
	return &Policies{current: r.Current, close: sync.OnceValue(func() error {
		cancel()
		return <-done
	})}, nil
}

func load(ctx context.Context, dir string, o Options) (*reload.Reloader, error) {
	documents, err := o.union(dir)
	if err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	given, err := o.settings()
	if err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	var last *engine.Engine // its compiled rules are reused; activations do not overlap
	var r *reload.Reloader
	r = reload.New(reload.Options{
		Source:     documents,
		Translator: translator.New(translator.Options{Settings: given, AllowEmpty: o.AllowEmpty}),
		Activate: func(ctx context.Context, b *bundles.Bundle) (decision.Policies, error) {
			e, err := engine.Activate(ctx, b, engine.Options{Now: o.Now, Timeout: o.Timeout, Last: last})
			if err != nil {
				return nil, err
			}
			last = e
			return e, nil
		},
		Observer: observer{func() {
			if o.OnReload != nil {
				o.OnReload(r.Revision(), loadError(r, nil))
			}
		}},
		Logger: o.Logger,
		Now:    o.Now,
	})
	if err := r.Load(ctx); err != nil {
		return nil, loadError(r, err)
	}
	return r, nil
}

// union returns the source of a directory and the further ones. It returns an error if one
// does not exist, or is named twice.
func (o *Options) union(dir string) (*source.Union, error) {
	var members []source.Member
	for _, dir := range append([]string{dir}, o.Also...) {
		if _, err := os.Stat(dir); err != nil {
			return nil, err
		}
		members = append(members, source.Member{
			Location: source.Location{Dir: dir},
			Source:   source.Dir(dir, source.DirOptions{Settle: o.Settle, NoIgnore: o.NoIgnore, Logger: o.Logger}),
		})
	}
	return source.Join(members, source.UnionOptions{Now: o.Now})
}

// settings returns the options that are not zero, which take precedence over the settings
// of the directory. It returns an error for a value that is not valid.
func (o *Options) settings() (settings.Settings, error) {
	given := settings.Settings{}
	for key, text := range map[settings.Key]string{
		settings.MasterNamespace: o.MasterNamespace, settings.DefaultNamespace: o.DefaultNamespace, settings.BootstrapRoles: o.BootstrapRoles, settings.ImpliedGroups: o.ImpliedGroups,
	} {
		if text == "" {
			continue
		}
		if err := settings.Check(key, text); err != nil {
			return nil, err
		}
		given[key] = settings.Value{Text: text}
	}
	for key, on := range map[settings.Key]bool{
		settings.StrictKinds: o.StrictKinds, settings.StrictRoutes: o.StrictRoutes, settings.ForbidUnset: o.ForbidUnset, settings.ClusterExport: o.ClusterExport,
	} {
		if on {
			given[key] = settings.Value{Text: "true"}
		}
	}
	return given, nil
}

// loadError returns the error of the last attempt, as a *DocumentsError if documents
// have mistakes. It returns otherwise if the status has no error.
func loadError(r *reload.Reloader, otherwise error) error {
	status := r.Status()
	switch {
	case status.LastError != "" && status.Errors > 0:
		return &DocumentsError{Diagnostics: status.Diagnostics, Errors: status.Errors}
	case otherwise == nil && status.LastError != "":
		return errors.New(status.LastError)
	}
	return otherwise
}

// OpenBundle reads a built bundle: a tarball, or a folder. It returns an error if the
// bundle cannot be read, is not valid, or is not signed by one of Options.Keys, and if
// Options have ImpliedGroups or MasterNamespace, which a bundle has in itself.
func OpenBundle(ctx context.Context, path string, o Options) (*Policies, error) {
	if o.ImpliedGroups != "" || o.MasterNamespace != "" {
		return nil, errors.New("open bundle: the bundle has ImpliedGroups and MasterNamespace in itself")
	}
	b, err := readBundle(path, o.Keys)
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	e, err := engine.Activate(ctx, b, engine.Options{Now: o.Now, Timeout: o.Timeout})
	if err != nil {
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	return &Policies{current: func() decision.Policies { return e }, close: func() error { return nil }}, nil
}

func readBundle(path, keyFile string) (*bundles.Bundle, error) {
	var keys *bundles.Keys
	if keyFile != "" {
		var err error
		if keys, err = bundles.ReadKeys(keyFile); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return bundles.ReadSignedDir(path, keys)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bundles.ReadSigned(io.Reader(file), keys)
}

// Revision returns the active revision: a hash of the documents' meaning.
func (p *Policies) Revision() string { return p.current().Loaded().Revision }

// Access decides r at the point access. It returns an *InvalidRequest if r lacks a
// required attribute or has attributes that exclude each other.
func (p *Policies) Access(ctx context.Context, r *AccessRequest) (AccessDecision, error) {
	if err := r.Validate(); err != nil {
		return AccessDecision{}, err
	}
	current := p.current()
	return current.Access(ctx, r.Completed(current)), nil
}

// Visibility decides r at the point visibility. If r has items, the decision has the
// indexes of those that are visible.
func (p *Policies) Visibility(ctx context.Context, r *VisibilityRequest) VisibilityDecision {
	current := p.current()
	return decision.DecideVisibility(ctx, current, r, current.Visibility(ctx, r))
}

// Gateway decides r at the point gateway. It returns an *InvalidRequest if an attribute
// is missing or has the wrong type.
func (p *Policies) Gateway(ctx context.Context, r *GatewayRequest) (GatewayDecision, error) {
	d, invalid := p.current().Gateway(ctx, r)
	if invalid != nil { // a nil *InvalidRequest in an error would not be nil
		return d, invalid
	}
	return d, nil
}

// Close ends the watch of Follow, and returns its error if it has ended by itself
// before. Requests are still decided after Close, by the last revision. It may be
// called more than once.
func (p *Policies) Close() error { return p.close() }
