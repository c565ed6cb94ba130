package proofs

import (
	"github.com/writ-policy/writ/analysis/verify"
)

// Status is what the status of a server shows of assertions: those of the revision that was
// refused last, or those of the one that is served.
type Status struct {
	Revision string `json:"revision"`
	// State is verified, pending or error.
	State string `json:"state"`
	// Code is why the revision is refused, and Message names the first assertions that fail;
	// both are empty if it is served.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Verified is the number of assertions, Holds how many are proven.
	Verified int       `json:"verified"`
	Holds    int       `json:"holds"`
	Failing  []Failing `json:"failing"`
}

// Failing is an assertion that fails.
type Failing struct {
	Document string `json:"document"`
	Name     string `json:"name"`
	Verdict  string `json:"verdict"`
	Text     string `json:"text"`
}

// verdicts are those of the revision that is served.
type verdicts struct {
	// State is verified, pending or error; Problem is the error.
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Refused is the revision that was refused last, while it is the newest.
	Refused *Status `json:"refused,omitempty"`
	verify.Report
}

func statusOf(revision string, report *verify.Report) *Status {
	out := &Status{Revision: revision, State: Verified, Failing: []Failing{}}
	if report == nil {
		return out
	}
	out.Verified = len(report.Assertions)
	for i := range report.Assertions {
		x := &report.Assertions[i]
		if x.Verdict == verify.Holds {
			out.Holds++
		}
		if x.Failed {
			out.Failing = append(out.Failing, Failing{x.Document, x.Name, x.Verdict, x.Text})
		}
	}
	return out
}

// state returns the state of the verdicts of what is served. It is called with mu held.
func (p *Proofs) state() string {
	switch {
	case p.problem != "":
		return broken
	case p.isStale && p.served != nil:
		return pending
	}
	return Verified
}

// Status returns what the status shows; nil without a revision.
func (p *Proofs) Status() *Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.refused != nil:
		out := *p.refused
		return &out
	case p.served == nil:
		return nil
	}
	out := statusOf(p.served.policies.Loaded().Revision, p.current())
	out.State, out.Message = p.state(), p.problem
	return out
}

// current is the report if it is about what is served. It is called with mu held.
func (p *Proofs) current() *verify.Report {
	if p.report == nil || p.served == nil || p.report.Revision != p.served.policies.Loaded().Revision {
		return nil
	}
	return p.report
}

// Served returns the verdicts of the revision that is served.
func (p *Proofs) Served() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &verdicts{State: p.state(), Problem: p.problem, Refused: p.refused}
	if report := p.current(); report != nil {
		out.Report = *report
		return out
	}
	out.Report = verify.Report{Source: p.o.Source, Now: p.o.Now().UTC(), Assertions: []verify.Result{}, Notes: []verify.Note{}, Diagnostics: []any{}}
	if p.served != nil {
		out.Revision = p.served.policies.Loaded().Revision
	}
	return out
}

// counts returns the number of assertions of each verdict. It is called with mu held.
func (p *Proofs) counts() map[string]int {
	out := map[string]int{verify.Holds: 0, verify.Fails: 0, verify.Excepted: 0, verify.Unknown: 0, verify.Vacuous: 0, pending: 0}
	if p.isStale && p.served != nil {
		out[pending] = p.served.count
		return out
	}
	if report := p.current(); report != nil {
		for i := range report.Assertions {
			out[report.Assertions[i].Verdict]++
		}
	}
	return out
}

// Failing returns how many assertions about the revision that is served fail, and a text that
// names the first.
func (p *Proofs) Failing() (n int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if report := p.current(); report != nil && report.Fails() {
		return len(statusOf("", report).Failing), failure(report)
	}
	return 0, ""
}
