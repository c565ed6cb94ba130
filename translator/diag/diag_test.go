package diag_test

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-policy/writ/translator/diag"
)

func at(file string, line, column int) diag.Position {
	return diag.Position{File: file, Line: line, Column: column}
}

func TestWriteText(t *testing.T) {
	tests := []struct {
		name   string
		source string
		give   diag.Diagnostic
		want   string
	}{
		{
			name:   "excerpt, mark and hint",
			source: "a\n  - verbs: [get, exce]\n",
			give: diag.Diagnostic{
				Position: at("role.yaml", 2, 18), Length: 4, Severity: diag.Warning, Code: diag.UnknownVerb,
				Message: `neither Origin nor Kubernetes knows the verb "exce"`, Hint: `did you mean "exec"?`,
			},
			want: `role.yaml:2:18: warning[unknown-verb]: neither Origin nor Kubernetes knows the verb "exce"
    2 |   - verbs: [get, exce]
      |                  ^^^^
      = hint: did you mean "exec"?
`,
		},
		{
			name: "no source, related",
			give: diag.Diagnostic{
				Position: at("bind.yaml", 9, 9), Code: diag.DanglingRole, Message: `role "viewr" is not declared`,
				Related: []diag.Related{{Position: at("role.yaml", 3, 9), Message: `role "viewer" is declared here`}},
			},
			want: `bind.yaml:9:9: error[dangling-role]: role "viewr" is not declared
      = see role.yaml:3:9: role "viewer" is declared here
`,
		},
		{
			name:   "wide runes before the mark count twice",
			source: "名前: x\n",
			give:   diag.Diagnostic{Position: at("f", 1, 5), Length: 1, Code: diag.YAML, Message: "m"},
			want:   "f:1:5: error[yaml]: m\n    1 | 名前: x\n      |       ^\n",
		},
		{
			name:   "a mark under wide runes is as wide",
			source: "a: 名前\n",
			give:   diag.Diagnostic{Position: at("f", 1, 4), Length: 2, Code: diag.YAML, Message: "m"},
			want:   "f:1:4: error[yaml]: m\n    1 | a: 名前\n      |    ^^^^\n",
		},
		{
			name:   "combining characters have no width",
			source: "e\u0301e\u0301: x\n",
			give:   diag.Diagnostic{Position: at("f", 1, 7), Length: 1, Code: diag.YAML, Message: "m"},
			want:   "f:1:7: error[yaml]: m\n    1 | e\u0301e\u0301: x\n      |     ^\n",
		},
		{
			name:   "tabs",
			source: "\ta: x\n",
			give:   diag.Diagnostic{Position: at("f", 1, 5), Length: 1, Code: diag.YAML, Message: "m"},
			want:   "f:1:5: error[yaml]: m\n    1 |     a: x\n      |        ^\n",
		},
		{
			name:   "control characters are shown as numbers",
			source: "\x1b[2J\u202ea: \xff\n",
			give:   diag.Diagnostic{Position: at("a\x1b\nb", 1, 6), Code: "c\x07", Message: "x\x1b[0m\r\ny", Hint: "h\u200b"},
			want: "a\\u001b b:1:6: error[c\\u0007]: x\\u001b[0m\\u000d y\n" +
				"    1 | \\u001b[2J\\u202ea: \ufffd\n      |                ^\n      = hint: h\\u200b\n",
		},
		{
			name:   "a mark after the end of the line",
			source: "a: [\n",
			give:   diag.Diagnostic{Position: at("f", 1, 5), Code: diag.YAML, Message: "m"},
			want:   "f:1:5: error[yaml]: m\n    1 | a: [\n      |     ^\n",
		},
		{
			name:   "a column far beyond the line has no mark",
			source: "a\n",
			give:   diag.Diagnostic{Position: at("f", 1, 50), Code: diag.YAML, Message: "m"},
			want:   "f:1:50: error[yaml]: m\n    1 | a\n",
		},
		{
			name:   "a long line is cut around the mark",
			source: strings.Repeat("x", 1000) + "HERE" + strings.Repeat("y", 1000) + "\n",
			give:   diag.Diagnostic{Position: at("f", 1, 1001), Length: 4, Code: diag.YAML, Message: "m"},
			want: "f:1:1001: error[yaml]: m\n    1 | …" + strings.Repeat("x", 60) + "HERE" + strings.Repeat("y", 55) + "…\n" +
				"      | " + strings.Repeat(" ", 61) + "^^^^\n",
		},
		{
			name:   "lines may end in CR or CR LF",
			source: "a\rb\r\nc\n",
			give:   diag.Diagnostic{Position: at("f", 3, 1), Code: diag.YAML, Message: "m"},
			want:   "f:3:1: error[yaml]: m\n    3 | c\n      | ^\n",
		},
		{
			name: "no line, no file",
			give: diag.Diagnostic{Code: diag.NoDocuments, Message: "nothing here"},
			want: "error[no-documents]: nothing here\n",
		},
		{
			name: "a file without a line",
			give: diag.Diagnostic{Position: at("big.yaml", 0, 0), Code: "too-large", Message: "m"},
			want: "big.yaml: error[too-large]: m\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source := func(string) []byte { return []byte(test.source) }
			var out bytes.Buffer
			if err := diag.WriteText(&out, diag.List{test.give}, diag.TextOptions{Source: source}); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}

func TestWriteTextCapsAndColours(t *testing.T) {
	list := diag.List{
		{Position: at("b", 1, 1), Code: diag.YAML, Message: "second"},
		{Position: at("a", 1, 1), Code: diag.YAML, Message: "first"},
		{Position: at("c", 1, 1), Severity: diag.Warning, Code: diag.NoSubjects, Message: "third"},
		{Position: at("c", 1, 1), Severity: diag.Warning, Code: diag.NoSubjects, Message: "third"},
	}
	var out bytes.Buffer
	if err := diag.WriteText(&out, list, diag.TextOptions{Most: 1, Color: true}); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[1ma:1:1\x1b[0m: \x1b[1;31merror[yaml]\x1b[0m: first\n... and 2 more: 1 error, 1 warning\n"
	if got := out.String(); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func writeReport(w io.Writer, list diag.List) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(diag.NewReport(list, nil))
}

func TestReport(t *testing.T) {
	list := diag.List{
		{Position: at("b.yaml", 2, 3), Severity: diag.Warning, Code: diag.NoSubjects, Message: "m <&>"},
		{
			Position: at("a.yaml", 4, 5), Code: diag.Duplicate, Message: "m", Hint: "h",
			Related: []diag.Related{{Position: at("c.yaml", 1, 2), Message: "first"}},
		},
	}
	const want = `{
  "diagnostics": [
    {
      "file": "a.yaml",
      "line": 4,
      "column": 5,
      "severity": "error",
      "code": "duplicate",
      "message": "m",
      "hint": "h",
      "related": [
        {
          "file": "c.yaml",
          "line": 1,
          "column": 2,
          "message": "first"
        }
      ]
    },
    {
      "file": "b.yaml",
      "line": 2,
      "column": 3,
      "severity": "warning",
      "code": "no-subjects",
      "message": "m <&>",
      "hint": ""
    }
  ],
  "errors": 1,
  "warnings": 1
}
`
	var out bytes.Buffer
	if err := writeReport(&out, list); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	out.Reset()
	if err := writeReport(&out, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "{\n  \"diagnostics\": [],\n  \"errors\": 0,\n  \"warnings\": 0\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteSARIF(t *testing.T) {
	list := diag.List{
		{Position: at("dir/a b.yaml", 4, 5), Length: 3, Code: diag.Duplicate, Message: "m", Hint: "h"},
		{Severity: diag.Warning, Code: "of-tomorrow", Message: "n"},
	}
	var out bytes.Buffer
	if err := diag.WriteSARIF(&out, list, nil, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			ColumnKind string
			Tool       struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID               string
						ShortDescription struct{ Text string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn, EndColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].ColumnKind != "unicodeCodePoints" || log.Runs[0].Tool.Driver.Version != "1.2.3" {
		t.Fatalf("got %s", out.String())
	}
	run := log.Runs[0]
	if got := run.Tool.Driver.Rules; len(got) != 2 || got[0].ID != "duplicate" || got[0].ShortDescription.Text == "" {
		t.Errorf("rules: got %+v", got)
	}
	if len(run.Results) != 2 {
		t.Fatalf("results: got %+v", run.Results)
	}
	if got := run.Results[0]; got.RuleID != "of-tomorrow" || got.RuleIndex != 1 || got.Level != "warning" || len(got.Locations) != 0 {
		t.Errorf("without a file: got %+v", got)
	}
	got := run.Results[1]
	place := got.Locations[0].PhysicalLocation
	if got.RuleIndex != 0 || got.Level != "error" || got.Message.Text != "m\nhint: h" || place.ArtifactLocation.URI != "dir/a%20b.yaml" ||
		place.Region.StartLine != 4 || place.Region.StartColumn != 5 || place.Region.EndColumn != 8 {
		t.Errorf("with a place: got %+v", got)
	}
}

// GitHub reads the severity of a rule as a number in a string, if the rule has the tag
// security: above 9.0 is critical, from 7.0 high, from 4.0 medium, and below low.
func TestSecuritySeverity(t *testing.T) {
	of := func(risk string) diag.Diagnostic {
		return diag.Diagnostic{Position: at("a.yaml", 1, 1), Severity: diag.Warning, Code: "risk-exec", Message: risk, Risk: risk}
	}
	for risk, row := range map[string][2]float64{"low": {0.1, 3.9}, "medium": {4, 6.9}, "high": {7, 8.9}, "critical": {9.1, 10}} {
		var out bytes.Buffer
		if err := diag.WriteSARIF(&out, diag.List{of("low"), of(risk), {Severity: diag.Warning, Code: "unbound-role"}}, nil, ""); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Rules []struct {
							ID         string
							Properties *struct {
								Tags  []string
								Score string `json:"security-severity"`
							}
						}
					}
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		rules := log.Runs[0].Tool.Driver.Rules
		if len(rules) != 2 || rules[0].Properties == nil || rules[1].Properties != nil || !slices.Contains(rules[0].Properties.Tags, "security") {
			t.Fatalf("%s: got %s", risk, out.String())
		}
		score, err := strconv.ParseFloat(rules[0].Properties.Score, 64)
		if err != nil || score < row[0] || score > row[1] {
			t.Errorf("%s: got %q", risk, rules[0].Properties.Score)
		}
	}
}

// Results have suppressions if any has them, with where and why.
func TestSilencedInSARIF(t *testing.T) {
	d := diag.Diagnostic{Position: diag.Position{File: "a.yaml", Line: 1, Column: 1}, Severity: diag.Warning, Code: "risk-exec", Message: "m"}
	by := diag.Suppression{Position: diag.Position{File: ".writ.yaml", Line: 3, Column: 1}, Reason: "why"}
	var out bytes.Buffer
	if err := diag.WriteSARIF(&out, diag.List{d}, []diag.Silenced{{Diagnostic: d, By: by}}, ""); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Runs []struct {
			Results []struct {
				Suppressions *[]struct {
					Kind, Justification string
					Location            struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	results := log.Runs[0].Results
	if len(results) != 2 || results[0].Suppressions == nil || len(*results[0].Suppressions) != 0 {
		t.Fatalf("got %s", out.String())
	}
	if got := (*results[1].Suppressions)[0]; got.Kind != "external" || got.Justification != "why" || got.Location.PhysicalLocation.ArtifactLocation.URI != ".writ.yaml" {
		t.Errorf("got %+v", got)
	}
}

func TestSuggest(t *testing.T) {
	verbs := []string{"exec", "get", "delete", "Role", "RoleBinding", "resourceKinds"}
	tests := map[string]string{
		"exce":                    "exec",
		"delte":                   "delete",
		"rolebinding":             "RoleBinding",
		"ResourceKind":            "resourceKinds",
		"gte":                     "get",
		"put":                     "",
		"frobnicate":              "",
		"":                        "",
		"exec":                    "",
		strings.Repeat("e", 5000): "",
	}
	for give, want := range tests {
		if got := diag.Suggest(give, verbs); got != want {
			t.Errorf("Suggest(%.20q): got %q, want %q", give, got, want)
		}
	}
}
