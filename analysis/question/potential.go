package question

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/translator/dates"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/tables"
)

// Potential is a subject that could get what a question asks for: a group that may request
// an escalation, or the user of a session that begins later.
type Potential struct {
	Subject string `json:"subject"`

	Escalation string    `json:"escalation,omitempty"` // NAMESPACE/NAME
	Group      string    `json:"group,omitempty"`      // what the escalation lends
	Clusters   []string  `json:"clusters,omitempty"`   // where
	Verdict    string    `json:"verdict,omitempty"`    // denials of deny policies count
	Approval   *Approval `json:"approval,omitempty"`

	Session string `json:"session,omitempty"`
	From    string `json:"from,omitempty"`
	Until   string `json:"until,omitempty"`

	isAlone bool // on some cluster a requester who is an approver may approve the request
}

// Approval is who approves a request.
type Approval struct {
	Users        []string `json:"users"`
	Groups       []string `json:"groups"`
	SelfApproval bool     `json:"selfApproval"`
	Domains      []string `json:"domains"`
}

// supposed is a session that is not valid now, for those with some principals: on clusters,
// with the groups that it lends.
type supposed struct {
	tables.Session
	principals []string
	clusters   []tables.PathGlob
}

// potentials finds who could get what a question asks for.
type potentials struct {
	*Asker
	q *Question
	f *fitting
	// verdicts are those of the question, by likeness of statements.
	verdicts map[string]*Subject
	places   map[string]*potentialPlace // by the texts of clusters
}

// potentialPlace is the question on some clusters.
type potentialPlace struct {
	*Question
	f        *fitting
	verdicts map[string]string // by likeness of statements
}

// potential lists who could get what the question asks for, by subject and escalation.
func (a *Asker) potential(ctx context.Context, q *Question, f *fitting, verdicts map[string]*Subject) ([]Potential, error) {
	p := potentials{a, q, f, verdicts, make(map[string]*potentialPlace)}
	out := []Potential{}
	if t := tables.Of[*tables.Requestable](a.World.Revision.Tables); t != nil {
		for i := range t.Escalations {
			found, err := p.escalation(ctx, t, &t.Escalations[i])
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	later, err := p.sessions(ctx)
	if err != nil {
		return nil, err
	}
	out = append(out, later...)
	slices.SortStableFunc(out, func(a, b Potential) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Escalation, b.Escalation), cmp.Compare(a.Session, b.Session))
	})
	return out, nil
}

// escalation lists the groups that may request an escalation, and that are allowed more by it.
func (p *potentials) escalation(ctx context.Context, t *tables.Requestable, e *tables.RequestableEscalation) (out []Potential, err error) {
	if e.Ready != nil && !*e.Ready {
		return nil, nil
	}
	cluster := cmp.Or(p.q.cluster, p.q.text("cluster"))
	terms := termsOf(e, t.Clusters, cluster)
	for _, group := range e.Groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		subject := statement.GroupPrefix + group
		now, err := p.subjectLike(ctx, p.q, p.f, subject, p.verdicts)
		if err != nil {
			return nil, err
		}
		if now != nil && now.Verdict == verdictAlways {
			continue
		}
		s := supposed{tables.Session{Owner: e.Name, Policies: e.DenyPolicies, Groups: t.Lent(e)}, []string{subject}, e.Clusters}
		verdict, err := p.verdict(ctx, &s)
		switch {
		case err != nil:
			return nil, err
		case verdict == "", now != nil && now.Verdict == verdict:
			continue
		}
		out = append(out, Potential{
			Subject: subject, Escalation: terms.locator(), Group: e.Group, Clusters: terms.Clusters, Verdict: verdict,
			Approval: &Approval{terms.Approve.Users, terms.Approve.Groups, terms.SelfApproval, terms.Domains},
			isAlone:  terms.SelfApproval || slices.Contains(terms.Both, subject),
		})
	}
	return out, nil
}

// waiting is what a session that is approved for later is refused for.
const waiting = "state WaitingForScheduledTime"

// sessions lists the users of sessions that begin later.
func (p *potentials) sessions(ctx context.Context) (out []Potential, err error) {
	t := tables.Of[*tables.Sessions](p.World.Whole().Revision.Tables)
	if t == nil {
		return nil, nil
	}
	at := dates.Of(p.Now)
	for _, s := range t.Sessions.All() {
		isLater := strings.HasPrefix(s.Dates.Status(at), "begins ") && s.Dates.Holds(*s.Dates.From)
		begins := s.MayHold() && isLater
		if s.Refused == waiting && !s.Unreadable && s.User != "" && s.Cluster != "" {
			begins = isLater || s.Dates.Holds(at)
		}
		cluster, problem, _ := tables.ParsePathGlob(tables.EscapePathGlob(s.Cluster))
		if !begins || problem != "" {
			continue
		}
		user := statement.UserPrefix + s.User
		verdict, err := p.verdict(ctx, &supposed{*s, []string{user}, []tables.PathGlob{cluster}})
		if err != nil {
			return nil, err
		}
		if verdict != "" {
			out = append(out, Potential{Subject: user, Session: s.Name, From: s.Dates.Begin(), Until: s.Dates.End()})
		}
	}
	return out, nil
}

// place returns the question on some clusters, nil if it is about none of them.
func (p *potentials) place(clusters []tables.PathGlob) *potentialPlace {
	key := strings.Join(statement.GlobTexts(clusters), "\x00")
	if known := p.places[key]; known != nil {
		return known
	}
	q := *p.q
	// The revision of one cluster also decides requests that do not name it.
	if q.cluster == "" || q.text("cluster") != "" {
		q.within = statement.On(clusters)
	}
	p.places[key] = &potentialPlace{&q, q.fit(p.World.Deny), make(map[string]string)}
	return p.places[key]
}

// verdict returns the verdict on who has a session that is supposed to be valid, empty if
// the session adds nothing or if nothing is allowed. Denials of deny policies count, and
// other sessions do not: they may end before this one.
func (p *potentials) verdict(ctx context.Context, s *supposed) (string, error) {
	if p.q.cluster != "" && !slices.ContainsFunc(s.clusters, func(g tables.PathGlob) bool { return g.Match(p.q.cluster) }) {
		return "", nil
	}
	place := p.place(s.clusters)
	principals := slices.Clone(s.principals)
	for _, group := range s.Groups {
		principals = append(principals, statement.GroupPrefix+group)
	}
	doesNotFit := func(of *statement.Statement) bool { return !place.f.fits(place.Question, of) }
	lent := slices.DeleteFunc(p.boundTo(place.Question, principals[len(s.principals):], false), doesNotFit)
	if !slices.ContainsFunc(lent, func(of *statement.Statement) bool { return of.Effect == statement.OutcomeAllow }) {
		return "", nil
	}
	own := slices.DeleteFunc(p.boundTo(place.Question, principals, false), doesNotFit)
	brought := slices.DeleteFunc(p.World.Sessions().Supposed(&s.Session), doesNotFit)
	deny := slices.Concat(place.f.deny, brought)
	like, isLike := p.likeness(place.Question, deny, slices.Concat(own, brought)) // the session may override pod security
	if known, ok := place.verdicts[like]; ok && isLike {
		return known, nil
	}
	a := Asker{World: p.World, Judge: p.judge(s), Now: p.Now}
	subject, err := a.subject(ctx, place.Question, deny, own, principals)
	p.q.cut = p.q.cut || place.cut
	if err != nil {
		return "", err
	}
	verdict := ""
	if subject != nil {
		if verdict = subject.Verdict; len(deny) > 0 {
			verdict = verdictSometimes
		}
	}
	if isLike {
		place.verdicts[like] = verdict
	}
	return verdict, nil
}

// judge decides requests as they are decided while the session is valid. Its groups count as
// those of the request, and its owner is named.
func (p *potentials) judge(s *supposed) statement.Judge {
	return func(ctx context.Context, point string, request []byte) (statement.Verdict, error) {
		if s.Owner == "" {
			return p.Judge(ctx, point, request)
		}
		var object map[string]any
		if err := json.Unmarshal(request, &object); err != nil {
			return statement.Verdict{}, fmt.Errorf("read the request: %w", err)
		}
		if named, _ := object["escalation"].(string); named == "" {
			request = statement.Encode(statement.With(object, "escalation", s.Owner))
		}
		return p.Judge(ctx, point, request)
	}
}

// potentialText lists those who could get it.
func (w *WhoCan) potentialText(out *diag.Lines) {
	for _, p := range w.Potential {
		if p.Session != "" {
			text := "could get it: " + p.Subject + " through session " + p.Session
			if p.From != "" {
				text += " from " + p.From
			}
			if p.Until != "" {
				text += " until " + p.Until
			}
			out.Addf("%s", text)
			continue
		}
		alone := ""
		if p.isAlone {
			alone = "; one person can do both"
		}
		text := fmt.Sprintf("could get it: %s through %s (approval by %s%s)", p.Subject, p.Escalation, textOf(principals(p.Approval.Groups, p.Approval.Users), nil), alone)
		if _, isStated := w.Question.Request["cluster"]; !isStated {
			text += " on " + strings.Join(statement.Shorten(p.Clusters), ", ")
		}
		if p.Verdict != verdictAlways {
			text += ", " + p.Verdict
		}
		out.Addf("%s", text)
	}
}
