// Package admin answers operators, who may change the active revision: it lists the
// revisions that are kept, rolls back to one, and releases it again. Its endpoints need a
// listener of their own: callers that may ask for decisions may not change them.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/decision"
)

// RevisionStore keeps revisions to go back to.
type RevisionStore interface {
	// Revisions are those kept, the newest first, as JSON shows them.
	Revisions() (any, error)
	// Rollback serves a kept revision and stays with it; Release ends that.
	Rollback(ctx context.Context, revision string) error
	Release(ctx context.Context) error
	// Accept lets a commit be served that does not descend from the last active one.
	Accept(ctx context.Context, commit string) error
}

// Errors of a RevisionStore that are shown to callers.
var (
	ErrNotKept = errors.New("no such revision is kept")
	ErrNoState = errors.New("no revisions are kept")
	// ErrNotCommit is of a text that is not the hash of a commit.
	ErrNotCommit = errors.New("must be the full hash of a commit")
	// ErrNotPinned is of a rollback that was done, and will not last.
	ErrNotPinned = errors.New("the revision is active, but will not be after a restart; see the log")
)

// timeout bounds a rollback: reading, compiling and expanding a large bundle.
const timeout = 2 * time.Minute

// Admin answers operators. All fields are required. Every caller must be authenticated,
// on every listener.
type Admin struct {
	Service *exchange.Service
	Store   RevisionStore
}

// Revisions lists the revisions that are kept.
func (a *Admin) Revisions(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, func(context.Context, *auth.Caller) (any, *exchange.Refusal) {
		kept, err := a.Store.Revisions()
		return map[string]any{"revisions": kept}, a.refusal(r, err)
	})
}

// Rollback serves the revision that the body names.
func (a *Admin) Rollback(w http.ResponseWriter, r *http.Request) {
	a.change(w, r, "revision", "rollback asked for", "pinned", a.Store.Rollback)
}

// Release ends a rollback. A body is refused: a caller that names a revision here wants
// a rollback.
func (a *Admin) Release(w http.ResponseWriter, r *http.Request) {
	a.answer(w, r, func(ctx context.Context, caller *auth.Caller) (any, *exchange.Refusal) {
		if refused := exchange.CheckNoBody(r); refused != nil {
			return nil, refused
		}
		a.Service.Logger.WarnContext(ctx, "release asked for", "by", caller.Name)
		return map[string]any{"pinned": ""}, a.refusal(r, a.Store.Release(ctx))
	})
}

// Accept lets the commit that the body names be served, and its descendants.
func (a *Admin) Accept(w http.ResponseWriter, r *http.Request) {
	a.change(w, r, "commit", "acceptance of a commit asked for", "accepted", a.Store.Accept)
}

// change applies a change to what a key of the body names, and answers with that under a key.
func (a *Admin) change(w http.ResponseWriter, r *http.Request, key, message, as string, apply func(context.Context, string) error) {
	a.answer(w, r, func(ctx context.Context, caller *auth.Caller) (any, *exchange.Refusal) {
		body, refused := a.Service.Body(r)
		if refused != nil {
			return nil, refused
		}
		name, refused := textIn(body, key)
		if refused != nil {
			return nil, refused
		}
		a.Service.Logger.WarnContext(ctx, message, "by", caller.Name, key, exchange.Line(name, exchange.MaxName))
		return map[string]any{as: name}, a.refusal(r, apply(ctx, name))
	})
}

// answer answers an operator with what change returns.
func (a *Admin) answer(w http.ResponseWriter, r *http.Request, change func(context.Context, *auth.Caller) (any, *exchange.Refusal)) {
	caller := auth.CallerOf(r.Context())
	if caller == nil {
		a.Service.Refuse(w, exchange.Problem, exchange.Unauthorized)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	value, refused := change(ctx, caller)
	if refused != nil {
		a.Service.Refuse(w, exchange.Problem, refused)
		return
	}
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and times
	}
	exchange.Write(w, http.StatusOK, exchange.JSON, append(body, '\n'))
}

// textIn returns the string at the only key of a body.
func textIn(value decision.Value, want string) (string, *exchange.Refusal) {
	if !value.IsObject() {
		return "", exchange.BadRequest("", "the body is not a JSON object")
	}
	found := ""
	for key, member := range value.Members() {
		text, ok := member.Text()
		switch {
		case key != want:
			return "", exchange.BadRequest(key, fmt.Sprintf("the body has no key but %q", want))
		case !ok:
			return "", exchange.BadRequest(key, fmt.Sprintf("key %q must be a string", want))
		}
		found = text
	}
	if found == "" {
		return "", exchange.BadRequest(want, fmt.Sprintf("key %q is missing", want))
	}
	return found, nil
}

// refusal is the refusal for an error of the store; nil for nil.
func (a *Admin) refusal(r *http.Request, err error) *exchange.Refusal {
	log := a.Service.Logger
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotKept):
		return &exchange.Refusal{Status: http.StatusNotFound, Message: ErrNotKept.Error()}
	case errors.Is(err, ErrNoState):
		return &exchange.Refusal{Status: http.StatusConflict, Message: "revisions are kept in a state directory, and none is configured"}
	case errors.Is(err, ErrNotCommit):
		return exchange.BadRequest("commit", "key \"commit\" "+ErrNotCommit.Error())
	case errors.Is(err, ErrNotPinned):
		log.ErrorContext(r.Context(), "the pinned revision could not be written", "error", err)
		return &exchange.Refusal{Status: http.StatusInternalServerError, Message: ErrNotPinned.Error()}
	}
	log.ErrorContext(r.Context(), "the active revision could not be changed", "error", err)
	return &exchange.Refusal{Status: http.StatusInternalServerError, Message: "it could not be done; see the log"}
}
