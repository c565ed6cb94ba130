package roads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/writ-policy/writ/cmd/writ/changes"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/evaluate"
	"github.com/writ-policy/writ/server/console"
	"github.com/writ-policy/writ/tests/ucast"
)

// sameOnRoads asks by the roads that all points have: twice for the decision, because the second
// answer may have been kept, in OPA's form, and for the explanation and its view.
func (s *site) sameOnRoads(point string, q map[string]any, want any) {
	s.Helper()
	for range 2 {
		s.same(point+" decision", q, s.ask("/v1/decisions/"+point, q), want)
	}
	path := "/v1/data/writ/" + point + "/decision"
	s.same(point+" data", q, members(s.ask(path, map[string]any{"input": q}))["result"], want)
	s.same(point+" data", q, s.ask("/v0/data/writ/"+point+"/decision", q), want)
	for key, member := range members(want) {
		below := members(s.ask(path+"/"+key, map[string]any{"input": q}))
		s.same(point+" data", q, below["result"], member)
	}
	status, text := s.send("GET", s.kept+path+"?input="+url.QueryEscape(string(encode(q))), "", nil)
	if status == http.StatusOK {
		s.same(point+" data", q, members(decode(s.T, text))["result"], want)
	}
	s.sameExplained(point, q, want)
	s.sameThen(point, q, want)
}

// sameRefused asks for a decision on a request that is not valid: the error is the same on all roads.
func (s *site) sameRefused(point string, q map[string]any) {
	s.Helper()
	status, text := s.send("POST", s.plain+"/v1/decisions/"+point, "application/json", encode(q))
	want := members(decode(s.T, text))
	again, kept := s.send("POST", s.kept+"/v1/decisions/"+point, "application/json", encode(q))
	s.same(point+" refusal", q, []any{again, decode(s.T, kept)}, []any{status, any(want)})
	decided := map[string]any{"error": want["error"]}
	batch := members(s.ask("/v1/decisions/"+point+"/batch", map[string]any{"requests": []any{q}}))
	s.same(point+" refusal", q, batch["decisions"], any([]any{decided}))
	data := members(s.ask("/v1/data/writ/"+point+"/decision", map[string]any{"input": q}))
	s.same(point+" refusal", q, data["result"], any(decided))
	explained, text := s.send("POST", s.kept+"/v1/explanations/"+point, "application/json", encode(q))
	got := []any{explained, members(decode(s.T, text))["error"]}
	s.same(point+" refusal", q, got, []any{http.StatusBadRequest, want["error"]})
}

// sameExplained compares the decision of an explanation, the outcome of each changed request in
// it with the decision on that request, and the outcome that the view shows.
func (s *site) sameExplained(point string, q map[string]any, want any) {
	s.Helper()
	status, text := s.send("POST", s.kept+"/v1/explanations/"+point, "application/json", encode(q))
	var e console.Explanation
	if err := json.Unmarshal(text, &e); status != http.StatusOK || err != nil {
		s.Fatalf("explanation of %s: got %d %s: %v", encode(q), status, text, err)
	}
	s.same(point+" explanation", q, decode(s.T, e.Decision), want)
	outcome := outcomeOf(point, want)
	s.same(point+" explanation", q, e.Outcome, outcome)
	again, _ := s.decide(point, decode(s.T, e.Request))
	s.same(point+" explanation", q, again, want)
	for i, w := range e.WhatIf {
		if i >= 3 && !s.Once(4) {
			continue
		}
		now := s.now()
		if w.At != "" {
			then, err := time.Parse(time.RFC3339Nano, w.At)
			if err != nil {
				s.Fatal(err)
			}
			s.at(then)
		}
		changed := decode(s.T, w.Request)
		decided, valid := s.decide(point, changed)
		if !valid {
			s.Errorf("%s: the changed request is not valid: %s", w.Request, decided)
		} else {
			s.same(point+" what-if", changed, w.Outcome, outcomeOf(point, decided))
		}
		s.at(now)
	}
	if items := members(want)["visible"]; items != nil && e.Items != nil {
		shown := []any{}
		for i, item := range e.Items {
			if item.Shown {
				shown = append(shown, json.Number(fmt.Sprint(i)))
			}
		}
		s.same(point+" explanation of items", q, shown, items)
	}
	s.sameOnPage(point, q, outcome)
}

// sameThen asks at another time for the explanation of the decision at this one.
func (s *site) sameThen(point string, q map[string]any, want any) {
	s.Helper()
	then := s.now()
	s.at(then.Add(time.Duration(s.IntN(1000)-500) * time.Hour))
	path := "/v1/explanations/" + point + "?at=" + url.QueryEscape(then.Format(time.RFC3339Nano))
	s.same(point+" explanation at a time", q, members(s.ask(path, q))["decision"], want)
	s.at(then)
}

// outcomeOf is the outcome of a decision, as the console has it.
func outcomeOf(point string, d any) string {
	decision := members(d)
	switch {
	case point == "visibility":
		return fmt.Sprint(decision["decision"])
	case decision["allowed"] == true:
		return console.Allow
	case point == "gateway" && decision["decision"] != nil:
		return fmt.Sprint(decision["decision"])
	case decision["denied"] == true:
		return console.Deny
	}
	return console.None
}

// words are those of the view for outcomes.
var words = map[string]string{
	console.Allow: "Allowed", console.Deny: "Denied", console.None: "Not allowed", console.Partial: "Partly",
}

// sameOnPage compares the outcome that a view shows of a request in its form.
func (s *site) sameOnPage(point string, q map[string]any, outcome string) {
	s.Helper()
	form, more := url.Values{}, with(q, nil)
	if point == "access" {
		for _, key := range []string{"user", "verb", "resource", "namespace", "name"} {
			if value, ok := q[key].(string); ok && value != "" && value == strings.TrimSpace(value) {
				form.Set(key, value)
				delete(more, key)
			}
		}
	}
	form.Set("more", string(encode(more)))
	path := "/page/ask"
	if point != "access" {
		path += "/" + point
	}
	status, text := s.send("GET", s.kept+path+"?"+form.Encode(), "", nil)
	if status == http.StatusRequestURITooLong || bytes.Contains(text, []byte("must be YAML or JSON")) {
		return // an address that is too long, or a number that YAML does not have
	}
	got := ""
	if document, err := html.Parse(bytes.NewReader(text)); err == nil {
		for n := range document.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "aria-label" && a.Val == "Outcome" {
					got = textOf(n)
				}
			}
		}
	}
	if status != http.StatusOK {
		got = fmt.Sprint(status)
	}
	s.same(point+" page", q, got, words[outcome])
}

func textOf(n *html.Node) string {
	var out strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			out.WriteString(child.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// decideEach returns the decisions of requests, and the requests one a line.
func (s *site) decideEach(point string, asked []map[string]any) (want []any, lines []byte) {
	s.Helper()
	want = []any{}
	for _, q := range asked {
		d, _ := s.decide(point, q)
		want = append(want, d)
		lines = append(append(lines, encode(q)...), '\n')
	}
	return want, lines
}

// sameInBatches asks for several decisions at once: in a body, and one a line.
func (s *site) sameInBatches(point string, asked []map[string]any) {
	s.Helper()
	want, lines := s.decideEach(point, asked)
	batch := members(s.ask("/v1/decisions/"+point+"/batch", map[string]any{"requests": asked}))
	s.same(point+" batch", asked, batch["decisions"], any(want))
	status, text := s.send("POST", s.kept+"/v1/decisions/"+point+"/batch", "application/x-ndjson", lines)
	if status != http.StatusOK {
		s.Fatalf("got %d %s", status, text)
	}
	s.same(point+" lines", asked, s.decodeLines(text), any(want))
}

func (s *site) decodeLines(text []byte) any {
	s.Helper()
	list := []any{}
	for line := range bytes.Lines(text) {
		list = append(list, decode(s.T, line))
	}
	return list
}

// sameOnCommandLine decides requests by writ eval, of the documents of the directory.
func (s *site) sameOnCommandLine(point string, asked []map[string]any) {
	s.Helper()
	want, lines := s.decideEach(point, asked)
	s.same(point+" command line", asked, s.eval(lines, "--point", point), any(want))
}

// eval returns the lines that writ eval writes, by the documents of the directory.
func (s *site) eval(lines []byte, flags ...string) any {
	s.Helper()
	out, failed := new(bytes.Buffer), new(bytes.Buffer)
	command := evaluate.NewEval(cli.Streams{In: bytes.NewReader(lines), Out: out, Err: failed})
	command.SetArgs(append(flags, "--policies", s.dir, "--now", s.now().Format(time.RFC3339Nano)))
	if err := command.ExecuteContext(s.Context()); err != nil {
		s.Fatalf("writ eval: %v: %s", err, failed)
	}
	return s.decodeLines(out.Bytes())
}

// sameReplayed replays decisions on requests by the documents of the directory: none is another.
func (s *site) sameReplayed(point string, asked []map[string]any) {
	s.Helper()
	lines, out, failed := new(bytes.Buffer), new(bytes.Buffer), new(bytes.Buffer)
	for _, q := range asked {
		d, _ := s.decide(point, q)
		lines.Write(append(encode(map[string]any{"point": point, "request": q, "decision": d, "time": s.now()}), '\n'))
	}
	command := changes.NewReplay(cli.Streams{In: lines, Out: out, Err: failed})
	now := s.now().Format(time.RFC3339Nano)
	command.SetArgs([]string{"--policies", s.dir, "--log", "-", "--now", now, "-o", "json", "--fail-on", "none"})
	if err := command.ExecuteContext(s.Context()); err != nil {
		s.Fatalf("writ replay: %v: %s", err, failed)
	}
	report := members(decode(s.T, out.Bytes()))
	got, want := []any{report["replayed"], report["changed"]}, []any{json.Number(strconv.Itoa(len(asked))), any([]any{})}
	s.same(point+" replay", asked, got, want)
}

// sameInLog compares what the log says after an edit, of requests that were decided before, with
// their decisions now.
func (s *site) sameInLog(point string) {
	s.Helper()
	status, text := s.send("GET", s.kept+"/v1/log?limit=200&point="+point, "", nil)
	var log console.Log
	if err := json.Unmarshal(text, &log); err != nil || status != http.StatusOK {
		s.Fatalf("log: got %d %.300s: %v", status, text, err)
	}
	for _, e := range log.Decisions {
		if e.WithoutPod || !s.Once(4) {
			continue
		}
		decided, valid := s.decide(point, decode(s.T, e.Request))
		want := outcomeOf(point, decided)
		if want == console.Partial {
			want = console.Allow // as the log has it
		}
		if !valid || want == e.Outcome {
			want = "" // it is the same, or about a gateway that is not there any more
		}
		s.same(point+" log", decode(s.T, e.Request), e.Now, want)
	}
}

// filter is a condition in UCAST.
type filter struct {
	kind  string
	query json.RawMessage
}

// filter asks for the condition under which rows are visible or allowed, and compares whether it
// always or never holds with what OPA's Compile API returns. The second value is false if it
// cannot be stated.
func (s *site) filter(point string, request, beside map[string]any) (*filter, bool) {
	s.Helper()
	body := with(beside, map[string]any{"request": request, "target": "ucast+all"})
	status, text := s.send("POST", s.kept+"/v1/filters/"+point, "application/json", encode(body))
	if status == http.StatusUnprocessableEntity {
		return nil, false
	}
	var found struct {
		Kind  string
		Query json.RawMessage
	}
	if err := json.Unmarshal(text, &found); err != nil || status != http.StatusOK {
		s.Fatalf("filter %s: got %d %s", encode(body), status, text)
	}
	rule := map[string]string{"access": "allowed", "visibility": "visible"}[point]
	compiled := members(s.ask("/v1/compile/writ/"+point+"/decision/"+rule, map[string]any{"input": request}))
	s.same(point+" compile", request, compiled["kind"], any(found.Kind))
	return &filter{found.Kind, found.Query}, true
}

// selects reports whether a row fulfills the condition.
func (f *filter) selects(s *site, row map[string]any) bool {
	s.Helper()
	if f.kind != "conditional" {
		return f.kind == "always"
	}
	var n ucast.Node
	if err := json.Unmarshal(f.query, &n); err != nil {
		s.Fatal(err)
	}
	got := ucast.Evaluate(s, n, row, false)
	if null := ucast.Evaluate(s, n, row, true); null != got {
		s.Errorf("%s is %d of %s, and %d where a missing value is unknown", f.query, got, encode(row), null)
	}
	return got == 1
}

// contains reports whether a list of numbers has one.
func contains(list []any, number int) bool {
	return slices.Contains(list, any(json.Number(strconv.Itoa(number))))
}
