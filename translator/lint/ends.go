package lint

import (
	"fmt"
	"time"

	"github.com/writ-policy/writ/translator/access"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/deny"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/directory"
	"github.com/writ-policy/writ/translator/session"
	"github.com/writ-policy/writ/translator/syntax"
)

// Ends states which ends of documents are reported. The zero value reports none.
type Ends struct {
	Now time.Time
	// Expired is how long ago an end is at least, and Within how near it is at most.
	Expired, Within time.Duration
}

// Check returns a warning for each document that has ended or ends soon.
func (e Ends) Check(d *directory.Directory) diag.List {
	var list diag.List
	if e.Now.IsZero() {
		return list
	}
	add := func(h *syntax.Header, end *syntax.End) {
		if end == nil {
			return
		}
		found := diag.Diagnostic{Position: end.At, Severity: diag.Warning}
		name := syntax.Quote(h.Name)
		if h.Namespace != "" {
			name = syntax.Quote(h.Namespace + "/" + h.Name)
		}
		switch {
		case !end.After(e.Now.Add(-e.Expired)):
			found.Code, found.Hint = diag.Expired, "remove it"
			found.Message = fmt.Sprintf("%s %s ended %s", h.Kind, name, dates.Format(end.Time))
		case end.After(e.Now) && !end.After(e.Now.Add(e.Within)):
			found.Code, found.Hint = diag.EndsSoon, "write a later end if it is still needed"
			found.Message = fmt.Sprintf("%s %s ends %s", h.Kind, name, dates.Format(end.Time))
		default:
			return
		}
		list.Add(found)
	}
	for _, b := range directory.DocumentsOf[*access.KubernetesBinding](d) {
		add(&b.Header, b.Dates.End)
	}
	for _, b := range directory.DocumentsOf[*access.OriginBinding](d) {
		add(&b.Header, b.Dates.End)
	}
	for _, p := range directory.DocumentsOf[*deny.DenyPolicy](d) {
		add(&p.Header, p.Dates.End)
	}
	for _, s := range directory.DocumentsOf[*session.BreakglassSession](d) {
		if s.State == session.StateApproved {
			add(&s.Header, syntax.EndAt(s.End(), s.ExpiresAt))
		}
	}
	for _, s := range directory.DocumentsOf[*session.DebugSession](d) {
		if s.State == session.StateActive {
			add(&s.Header, syntax.EndAt(s.Ends, s.EndsAt))
		}
	}
	return list
}
