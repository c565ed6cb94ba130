package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/server/point"
)

// RevisionStore keeps revisions to go back to.
type RevisionStore interface {
	// Revisions are those kept, the newest first, as JSON shows them.
	Revisions() (any, error)
	// Rollback serves a kept revision and stays with it; Release ends that.
	Rollback(ctx context.Context, revision string) error
	Release(ctx context.Context) error
}

// Errors of a RevisionStore that are shown to callers.
var (
	ErrNotKept = errors.New("no such revision is kept")
	ErrNoState = errors.New("no revisions are kept")
	// ErrNotPinned is of a rollback that was done, and will not last.
	ErrNotPinned = errors.New("the revision is served, and will not be after a restart; the log says why")
)

// AdminOptions configure the endpoints of operators.
type AdminOptions struct {
	RevisionStore RevisionStore
	Metrics       *metrics.Metrics
	// Authenticator must authenticate each caller.
	Authenticator Authenticator
	Logger        *slog.Logger
}

// adminTimeout bounds a rollback: reading, compiling and expanding a large bundle.
const adminTimeout = 2 * time.Minute

// NewAdmin returns the handler of the endpoints that change the active revision. They
// need a listener of their own: callers that may ask for decisions may not change them.
func NewAdmin(o AdminOptions) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &service{
		Options: Options{Metrics: o.Metrics, Authenticator: o.Authenticator, Logger: o.Logger, MaxBody: 64 << 10},
		protect: point.Guard{Metrics: o.Metrics, Logger: o.Logger},
	}
	a := &admin{s, o.RevisionStore}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	for _, route := range []route{
		{"GET", "/v1/revisions", endpoint{handle: a.revisions}},
		{"POST", "/v1/rollback", endpoint{handle: a.rollback}},
		{"POST", "/v1/release", endpoint{handle: a.release}},
	} {
		engine.Handle(route.methods, route.pattern, s.guard(route.pattern, route.endpoint))
	}
	engine.NoRoute(s.guard(noRoute, endpoint{handle: s.notFound}))
	engine.NoMethod(s.guard(noRoute, endpoint{handle: s.notAllowed}))
	return engine
}

type admin struct {
	*service
	store RevisionStore
}

// operator returns the authenticated operator. If there is none, it writes the error
// response and returns nil.
func (a *admin) operator(c *gin.Context) *Caller {
	caller, refused := a.caller(c.Request)
	if refused == nil && caller == nil {
		refused = unauthorized()
	}
	if refused != nil {
		a.refuse(c, refused)
		return nil
	}
	return caller
}

func (a *admin) revisions(c *gin.Context) {
	if a.operator(c) == nil {
		return
	}
	kept, err := a.store.Revisions()
	if err != nil {
		a.failed(c, err)
		return
	}
	a.show(c, map[string]any{"revisions": kept})
}

func (a *admin) rollback(c *gin.Context) {
	caller := a.operator(c)
	if caller == nil {
		return
	}
	b := buffers.Get().(*buffer)
	defer a.service.release(b)
	value, refused := a.parse(c, b)
	if refused != nil {
		a.refuse(c, refused)
		return
	}
	revision, refused := revisionIn(value)
	if refused != nil {
		a.refuse(c, refused)
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), adminTimeout)
	defer cancel()
	a.Logger.WarnContext(ctx, "rollback asked for", "by", caller.Name, "revision", line(revision, maxName))
	if err := a.store.Rollback(ctx, revision); err != nil {
		a.failed(c, err)
		return
	}
	a.show(c, map[string]any{"pinned": revision})
}

func revisionIn(value decision.Value) (string, *refusal) {
	if !value.IsObject() {
		return "", badRequest("", "the body is not a JSON object")
	}
	revision := ""
	for key, member := range value.Members() {
		text, ok := member.Text()
		switch {
		case key != "revision":
			return "", badRequest(key, "the body has no key but \"revision\"")
		case !ok:
			return "", badRequest(key, "key \"revision\" must be a string")
		}
		revision = text
	}
	if revision == "" {
		return "", badRequest("revision", "key \"revision\" is missing")
	}
	return revision, nil
}

func (a *admin) release(c *gin.Context) {
	caller := a.operator(c)
	if caller == nil {
		return
	}
	if refused := bodyless(c.Request); refused != nil {
		a.refuse(c, refused) // who names a revision here wants a rollback
		return
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), adminTimeout)
	defer cancel()
	a.Logger.WarnContext(ctx, "release asked for", "by", caller.Name)
	if err := a.store.Release(ctx); err != nil {
		a.failed(c, err)
		return
	}
	a.show(c, map[string]any{"pinned": ""})
}

func (a *admin) failed(c *gin.Context, err error) {
	switch {
	case errors.Is(err, ErrNotKept):
		a.refuse(c, &refusal{status: http.StatusNotFound, message: ErrNotKept.Error()})
	case errors.Is(err, ErrNoState):
		a.refuse(c, &refusal{status: http.StatusConflict, message: "revisions are kept in a state directory, and none is configured"})
	case errors.Is(err, ErrNotPinned):
		a.Logger.ErrorContext(c.Request.Context(), "what is pinned could not be written", "error", err)
		a.refuse(c, &refusal{status: http.StatusInternalServerError, message: ErrNotPinned.Error()})
	default:
		a.Logger.ErrorContext(c.Request.Context(), "what is served could not be changed", "error", err)
		a.refuse(c, &refusal{status: http.StatusInternalServerError, message: "it could not be done; the log says why"})
	}
}

func (a *admin) show(c *gin.Context, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err) // texts, numbers and times
	}
	write(c, http.StatusOK, jsonType, append(body, '\n'))
}
