package visibility

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func jsonNumber(text string) json.Number { return json.Number(text) }

func TestTextForm(t *testing.T) {
	for _, row := range []struct {
		value any
		want  string
		none  bool
	}{
		{value: nil, want: ""},
		{value: "x ", want: "x "},
		{value: true, want: "true"},
		{value: false, want: "false"},
		{value: jsonNumber("5368709120"), want: "5368709120"},
		{value: jsonNumber("1.0"), want: "1"},
		{value: jsonNumber("0.25"), want: "0.25"},
		{value: jsonNumber("0.250"), want: "0.25"},
		{value: jsonNumber("5e9"), want: "5000000000"},
		{value: jsonNumber("1.5E+3"), want: "1500"},
		{value: jsonNumber("1.25e1"), want: "12.5"},
		{value: jsonNumber("25e-4"), want: "0.0025"},
		{value: jsonNumber("-0.0"), want: "0"},
		{value: jsonNumber("-1e-2"), want: "-0.01"},
		{value: jsonNumber("100"), want: "100"},
		{value: jsonNumber("9007199254740993"), want: "9007199254740993"},
		{value: []any{"x"}, none: true},
		{value: map[string]any{}, none: true},
	} {
		got, ok := textForm(row.value)
		if got != row.want || ok == row.none {
			t.Errorf("%v: got %q, %v, want %q, %v", row.value, got, ok, row.want, !row.none)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"15", "15"}, {"+15", "15"}, {"-0.5", "-0.5"}, {"1e2", "100"}, {"1E-2", "0.01"}, {"007", "7"}, {".5", "0.5"}, {"5.", "5"}, {"5.e+1", "50"},
		{"1e400", "1e400"}, {"-00.10e999", "-1e998"}, {strings.Repeat("9", 128), strings.Repeat("9", 128)},
		{strings.Repeat("9", 129), ""}, {"1e1000", ""}, {"", ""}, {".", ""}, {"x", ""}, {"5Gi", ""}, {"0x10", ""}, {"1_0", ""},
		{"Inf", ""}, {" 5", ""}, {"5\n", ""}, {"++5", ""}, {"e5", ""}, {"٥", ""},
	} {
		got := parseNumber(row.text)
		if row.want == "" && got != nil || row.want != "" && (got == nil || got.compare(newDecimal(row.want)) != 0) {
			t.Errorf("%q: got %v, want %q", row.text, got, row.want)
		}
	}
}

func TestCountDistinct(t *testing.T) {
	const many = 20_000
	fractions := make([]*ast.Term, many)
	for i := range fractions {
		fractions[i] = ast.NumberTerm(json.Number(fmt.Sprintf("0.%d1", i)))
	}
	for _, row := range []struct {
		name   string
		values []*ast.Term
		want   int
	}{
		{"none", nil, 0},
		{"a number and its text", parsed(t, `[1, "1", 1.0, 10e-1, true, 1]`), 3},
		{"beyond a double", parsed(t, `[1e400, 10e399, -1e400, 1e401]`), 3},
		{"lists and objects", parsed(t, `[[1, 2], [1.0, 2], [2, 1], {"a": 1}, {"a": 1.0}, [], {}]`), 5},
		// In an OPA set these values collide: OPA hashes numbers by their integer part.
		{"fractions", fractions, many},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := countDistinct(row.values); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}

func parsed(t *testing.T, list string) (terms []*ast.Term) {
	t.Helper()
	value, err := ast.ValueFromReader(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	value.(*ast.Array).Foreach(func(term *ast.Term) { terms = append(terms, term) })
	return terms
}

func TestDecimalsCompareAsOPADoes(t *testing.T) {
	numbers := strings.Fields("-9e999 -1e400 -12345678901234567890.5 -12345678901234567890 -10 -1.50 -1.5 -1 -0.1 -1e-400 -0 0 0.0 0e7 " +
		"1e-999 1e-400 0.0001 1e-3 0.1 0.10 1 1.0 10e-1 1.05 1.5 2 9 10 1e1 10.01 99 100 9007199254740993 1e400 10e399 1.1e400 9.9e999")
	for _, a := range numbers {
		for _, b := range numbers {
			if got, want := newDecimal(a).compare(newDecimal(b)), ast.Number(a).Compare(ast.Number(b)); got != want {
				t.Errorf("%s and %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}
