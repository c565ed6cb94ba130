package oracle

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Session is a BreakglassSession as written; empty texts are absent.
type Session struct {
	Namespace, Name, Source string
	Cluster, User, Group    string
	Issuer                  string
	AnyIssuer               bool
	State                   string
	// The times at which it begins, is rejected and ends, and of the last activity, after
	// which it ends IdleMinutes later; zero for no such end.
	Scheduled, Approved, Started    string
	Rejected, Expires, LastActivity string
	IdleMinutes                     int
	Owners                          []string // names of escalations
	Policies                        []string
}

// issuers is the key of the extra values about who has authenticated a user.
const issuers = "identity.t-caas.telekom.com/issuer"

// start is the latest of the times at which the session begins.
func (s *Session) start() string {
	latest := ""
	for _, text := range []string{s.Scheduled, s.Approved, s.Started} {
		if text != "" && (latest == "" || instantOf(latest).before(instantOf(text))) {
			latest = text
		}
	}
	return latest
}

// end is the earlier of the time at which the session expires, and the end by inactivity.
func (s *Session) end() instant {
	end := instantOf(s.Expires)
	if s.LastActivity != "" && s.IdleMinutes > 0 {
		idle := instantOf(s.LastActivity)
		idle[0] += int64(s.IdleMinutes) * 60
		if idle.before(end) {
			return idle
		}
	}
	return end
}

// End is when the session ends, which has a time at which it expires.
func (s *Session) End() time.Time {
	end := s.end()
	return time.Unix(end[0]-of1970, end[1]).UTC()
}

// Problem says why the session is not valid for a request, empty if it is.
func (s *Session) Problem(r Request, now time.Time) string {
	at := instantAt(now)
	switch {
	case s.User != r.User || s.Cluster != r.Cluster:
		return "for another user or cluster"
	case s.State == "":
		return "no state"
	case s.State != "Approved":
		return "state " + s.State
	case s.Rejected != "":
		return "rejected"
	case !s.AnyIssuer && slices.ContainsFunc(r.Extra[issuers], func(i string) bool { return i != "" && i != s.Issuer }):
		return "from another identity provider"
	case s.Expires == "":
		return "no end"
	case s.start() != "" && at.before(instantOf(s.start())):
		return "begins " + instantOf(s.start()).text()
	case !at.before(s.end()):
		return "ended " + s.end().text()
	}
	return ""
}

// via is the session as an entry names it.
func (s *Session) via() Via {
	v := Via{Kind: "BreakglassSession", Namespace: s.Namespace, Name: s.Name}
	if !lastTick.before(s.end()) {
		v.Until = s.end().text()
	}
	return v
}

// Through completes an entry that applies through sessions alone.
func (e *Entry) Through(sessions []*Session) {
	for _, s := range sessions {
		e.Via = append(e.Via, s.via())
	}
	if last := e.last(); last != nil && last.Until != "" && (e.Until == "" || instantOf(last.Until).before(instantOf(e.Until))) {
		e.Until = last.Until
	}
}

// last is the first of the sessions that end last, nil without any.
func (e *Entry) last() *Via {
	var last *Via
	for i := range e.Via {
		v := &e.Via[i]
		if last == nil || last.Until != "" && (v.Until == "" || instantOf(last.Until).before(instantOf(v.Until))) {
			last = v
		}
	}
	return last
}

// Debug is a DebugSession as written; empty texts are absent.
type Debug struct {
	Namespace, Name, Source string
	Cluster, State          string
	Starts, Ends            string
	Pods                    [][2]string // namespace and name
	// Operations are those of allowedPodOperations; absent keys have their defaults.
	Operations   map[string]bool
	Participants []Participant
}

// Participant is a participant of a DebugSession.
type Participant struct{ User, Role, Left string }

// Covers returns the index of the participant whom the session lets into the pod of a
// request, or -1.
func (s *Debug) Covers(r Request, now time.Time) int {
	key, known := map[string]string{"exec": "exec", "attach": "attach", "portforward": "portForward", "log": "logs"}[r.Subresource]
	on, written := s.Operations[key]
	switch {
	case !known || r.APIGroup != "" || r.Resource != "pods" || r.Name == "" || r.Namespace == "":
	case s.State != "Active" || s.Cluster != r.Cluster || !(Dates{s.Starts, s.Ends}).Hold(now):
	case !slices.Contains(s.Pods, [2]string{r.Namespace, r.Name}):
	case written && !on || !written && key == "logs":
	default:
		return slices.IndexFunc(s.Participants, func(p Participant) bool {
			return p.User == r.User && p.Left == "" && (p.Role == "owner" || p.Role == "participant")
		})
	}
	return -1
}

// text prints an instant in UTC, without zeros at the end of the fraction.
func (a instant) text() string {
	text := time.Unix(a[0]-of1970, 0).UTC().Format("2006-01-02T15:04:05")
	if fraction := strings.TrimRight(strconv.FormatInt(1_000_000_000+a[1], 10)[1:], "0"); fraction != "" {
		text += "." + fraction
	}
	return text + "Z"
}
