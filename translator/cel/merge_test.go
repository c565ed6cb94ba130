package cel

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const lowerPolicy = `{"apiVersion":"kuadrant.io/v1","kind":"RateLimitPolicy","metadata":{"name":"api","namespace":"books"},
 "spec":{"targetRef":{"kind":"HTTPRoute","name":"api"},"limits":{
  "big":{"rates":[{"limit":10,"window":"5s"},{"limit":7.0,"window":"1m"}]},"small":{"rates":[{"limit":1,"window":"1h"}]}}}}`

func TestMergeHolds(t *testing.T) {
	var lower map[string]any
	d := json.NewDecoder(strings.NewReader(lowerPolicy))
	d.UseNumber()
	if err := d.Decode(&lower); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		text  string
		holds bool
		err   string
	}{
		"a bound":                 {"self.spec.limits.big.rates[0].limit > 5", true, ""},
		"spec for self.spec":      {"spec.limits.big.rates[0].limit > 15", false, ""},
		"integers are ints":       {"spec.limits.big.rates[0].limit % 3 == 1", true, ""},
		"whole is an int":         {"type(spec.limits.big.rates[1].limit) == int", true, ""},
		"a missing key":           {"self.spec.limits.gone.rates[0].limit > 5", false, ""},
		"a missing key negated":   {"!(self.spec.limits.gone.rates[0].limit > 5)", false, ""},
		"a missing key absorbed":  {"self.spec.limits.gone.x || true", true, ""},
		"an index out of range":   {"self.spec.limits.small.rates[1].limit > 0", false, ""},
		"an index below the list": {"self.spec.limits.small.rates[-1].limit > 0", false, ""},
		"a dynamic index":         {"[0, 3].exists(i, spec.limits.small.rates[i].limit == 7)", false, ""},
		"has":                     {"has(self.spec.limits.x)", false, ""},
		"all":                     {"self.spec.limits.all(k, self.spec.limits[k].rates.all(r, r.limit > 5))", false, ""},
		"durations":               {"self.spec.limits.exists(k, self.spec.limits[k].rates.exists(r, duration(r.window) < duration('10s')))", true, ""},
		"strings":                 {"self.metadata.name.upperAscii() == 'API'", true, ""},
		"not a bool":              {"self.metadata.name", false, "of type string, not bool"},
		"types that do not fit":   {"self.metadata.name > 5", false, "does not accept the types"},
		"a division by zero":      {"1 / (spec.limits.small.rates[0].limit - 1) > 0", false, "division by zero"},
		"an odd duration":         {"duration(self.metadata.name) > duration('1s')", false, "Duration"},
	} {
		t.Run(name, func(t *testing.T) {
			m, problem := CompileMerge(row.text)
			if problem != nil {
				t.Fatal(problem)
			}
			holds, err := m.Holds(lower)
			if holds != row.holds {
				t.Errorf("got %v, want %v", holds, row.holds)
			}
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v, want %q", err, row.err)
			}
		})
	}
}

func TestMergeWithoutSpec(t *testing.T) {
	m, problem := CompileMerge("size(spec) == 0 && self.metadata.name == ''")
	if problem != nil {
		t.Fatal(problem)
	}
	holds, err := m.Holds(map[string]any{"metadata": map[string]any{"name": ""}})
	if !holds || err != nil {
		t.Errorf("got %v, %v, want true", holds, err)
	}
}

func TestProblems(t *testing.T) {
	for name, row := range map[string]struct {
		text, message string
		line, column  int
		check         func(string) *Problem
	}{
		"not a bool":            {"1 + 1", "of type int, not bool", 1, 1, CheckMerge},
		"unknown variable":      {"has(policy.spec)", `unknown variable "policy"; the variables are self, spec`, 1, 5, CheckMerge},
		"half an expression":    {"a ==", "ends before it is complete", 1, 5, CheckPredicate},
		"second line":           {"request.method == 'GET' &&\n  self.x", `unknown variable "self"`, 2, 3, CheckPredicate},
		"runes, not bytes":      {"'ä' == nix", `unknown variable "nix"`, 1, 8, CheckPredicate},
		"types that do not fit": {"'a' + 1 == 2", "+ does not take (string, int)", 1, 5, CheckPredicate},
		"an index":              {"'a'[0] == 'a'", "[] does not take (string, int)", 1, 4, CheckPredicate},
		"no text":               {"", "", 1, 1, CheckPredicate},
		"an unknown function":   {"request.method.upper() == 'x'", `unknown function "upper"`, 1, 16, CheckPredicate},
		"an unknown macro":      {"true &&\n  spec.limits.exist(k, true)", `unknown function "exist"`, 2, 15, CheckMerge},
		"a dot too many":        {"request. == 1", `". ==" is not expected here`, 1, 10, CheckPredicate},
		"two expressions":       {"true true", `"true" is not expected here`, 1, 6, CheckPredicate},
		"no letter of CEL":      {"request.path = '#'", `"=" is not expected here`, 1, 14, CheckPredicate},
		"a text":                {"  request.method + 'x'", "of type string, not bool", 1, 3, CheckPredicate},
		"gateway's at access":   {"auth.x == 1", `unknown variable "auth"; the variables are request`, 1, 1, CheckAccess},
		"a value":               {"auth.identity.sub + ", "ends before it is complete", 1, 21, CheckExpression},
		"a regular expression":  {"request.path.matches('[')", "matches cannot parse", 1, 22, CheckPredicate},
		"a duration":            {"self.x == duration('1 day')", "duration cannot parse", 1, 20, CheckMerge},
		"a timestamp":           {"request.time > timestamp('now')", "timestamp cannot parse", 1, 26, CheckPredicate},
		"a zone by its name":    {"request.time.getHours('Europe/Berlin') > 8", "time zone", 1, 23, CheckPredicate},
		"bytes":                 {"b'x' == request.body", "literals of type bytes", 1, 1, CheckPredicate},
		"unsigned":              {"request.size > 1u", "type uint", 1, 16, CheckPredicate},
		"format":                {"'%s'.format([request.id]) == 'x'", "format is not supported", 1, 12, CheckPredicate},
		"macros within macros":  {strings.Repeat("[1].exists(x, ", 6) + "true" + strings.Repeat(")", 6), "nesting limit", 1, 81, CheckPredicate},
		"a message":             {"google.protobuf.Duration{} == request.x", "messages are not supported", 1, 25, CheckPredicate},
		"a counter":             {"identity.sub", `unknown variable "identity"`, 1, 1, CheckCounter},
	} {
		t.Run(name, func(t *testing.T) {
			p := row.check(row.text)
			if p == nil {
				t.Fatal("got no problem")
			}
			if !strings.Contains(p.Message, row.message) || p.Line != row.line || p.Column != row.column {
				t.Errorf("got %d:%d %s, want %d:%d %s", p.Line, p.Column, p.Message, row.line, row.column, row.message)
			}
		})
	}
}

func TestUnknownNames(t *testing.T) {
	for name, row := range map[string]struct {
		text, unknown string
		known         []string // some of them
		others        string   // not one of them
	}{
		"a variable": {"requst.path == '/'", "requst", []string{"request", "auth", "source"}, "startsWith"},
		"a method":   {"request.path.startWith('/')", "startWith", []string{"startsWith", "exists", "getHours", "has"}, "_[_]"},
		"neither":    {"request.path ==", "", nil, ""},
	} {
		p := CheckPredicate(row.text)
		if p == nil {
			t.Fatalf("%s: got no problem", name)
		}
		if p.Unknown != row.unknown || slices.Contains(p.Known, row.others) {
			t.Errorf("%s: got %q of %q, want %q", name, p.Unknown, p.Known, row.unknown)
		}
		for _, known := range row.known {
			if !slices.Contains(p.Known, known) {
				t.Errorf("%s: got %q, want %q among them", name, p.Known, known)
			}
		}
	}
}

func TestSound(t *testing.T) {
	for _, text := range []string{
		"true", "auth.identity.beta", "'admin' in auth.identity.groups", "!has(auth.identity.anonymous)",
		"request.path.startsWith('/api')", "context.request.http.method == 'GET'",
	} {
		if p := CheckPredicate(text); p != nil {
			t.Errorf("%s: got %v", text, p)
		}
	}
	for _, text := range []string{"request.method == 'GET' ? 'get' : 'delete'", "{'a': [1, 2.5]}"} {
		if p := CheckExpression(text); p != nil {
			t.Errorf("%s: got %v", text, p)
		}
	}
}
