package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/changes"
	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/cmd/writ/documents"
	"github.com/writ-policy/writ/cmd/writ/evaluate"
)

// conformanceCase is a line of cases.jsonl.
type conformanceCase struct {
	Name      string          `json:"name"`
	Point     string          `json:"point"`
	Now       string          `json:"now"`
	Input     json.RawMessage `json:"input"`
	Effective *question       `json:"effective"`
	Want      any             `json:"want"`
}

// expectation is a line of expect.jsonl. It may have keys that only people read.
type expectation struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	About     string `json:"about"`
	AlsoLines []int  `json:"alsoLines"`
	Code      string `json:"code"`   // empty: any
	Column    int    `json:"column"` // zero: any; else the place is exact
}

func testCases(t *testing.T, folder string) int {
	cases := lines[conformanceCase](t, filepath.Join(folder, "cases.jsonl"))
	groups := map[[2]string][]conformanceCase{}
	names := map[string]bool{}
	for _, c := range cases {
		if (c.Input == nil) == (c.Effective == nil) {
			t.Fatalf("%s: a case has an input or asks for an effective policy", c.Name)
		}
		if names[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		names[c.Name] = true
		if c.Effective != nil {
			testQuestion(t, folder, c.Name, c.Effective.arguments(), c.Want)
			continue
		}
		key := [2]string{c.Point, c.Now}
		groups[key] = append(groups[key], c)
	}
	for _, key := range slices.SortedFunc(maps.Keys(groups), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		testDecisions(t, folder, key[0], key[1], groups[key])
	}
	return len(cases)
}

func testDecisions(t *testing.T, folder, point, now string, cases []conformanceCase) {
	arguments := []string{"eval", "--policies", filepath.Join(folder, "policies"), "--point", point}
	if now != "" {
		arguments = append(arguments, "--now", now)
	}
	var in bytes.Buffer
	for _, c := range cases {
		if err := json.Compact(&in, c.Input); err != nil {
			t.Fatal(err)
		}
		in.WriteByte('\n')
	}
	out, talk, _ := start(t, &in, arguments...)
	answers := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d requests: %s", len(answers), len(cases), talk)
	}
	for i, c := range cases {
		t.Run(strings.ReplaceAll(c.Name, "/", ": "), func(t *testing.T) {
			var got any
			if err := json.Unmarshal([]byte(answers[i]), &got); err != nil {
				t.Fatalf("%v: %s", err, answers[i])
			}
			if why := differs(got, c.Want, ""); why != "" {
				t.Errorf("%s\nrequest: %s\nanswer: %s", why, c.Input, answers[i])
			}
		})
	}
}

func testExpect(t *testing.T, folder string) int {
	expectations := lines[expectation](t, filepath.Join(folder, "expect.jsonl"))
	warning := filepath.Base(folder) == "warn"
	for _, e := range expectations {
		t.Run(e.File, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, e.File))
			if err != nil {
				t.Fatal(err)
			}
			alone := t.TempDir()
			if err := os.WriteFile(filepath.Join(alone, e.File), text, 0o644); err != nil {
				t.Fatal(err)
			}
			out, talk, status := start(t, nil, "check", alone, "-o", "json")
			if want := map[bool]int{true: 0, false: 1}[warning]; status != want {
				t.Fatalf("got exit status %d, want %d: %s%s", status, want, out, talk)
			}
			if strings.Contains(talk, "panic:") || strings.Contains(talk, "goroutine ") {
				t.Fatalf("panic: %s", talk)
			}
			if !e.metBy(t, out, warning) {
				t.Errorf("no diagnostic %s at %d:%d about %q: %s", e.Code, e.Line, e.Column, e.About, out)
			}
		})
	}
	checkComplete(t, folder, expectations)
	return len(expectations)
}

// metBy reports whether some diagnostic of a report is the expected one.
func (e expectation) metBy(t *testing.T, report string, warning bool) bool {
	var found struct {
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if err := json.Unmarshal([]byte(report), &found); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	for _, text := range found.Diagnostics {
		var d struct {
			Severity string `json:"severity"`
			Line     int    `json:"line"`
			Column   int    `json:"column"`
			Code     string `json:"code"`
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		if (d.Severity == "warning") != warning || e.Code != "" && d.Code != e.Code {
			continue
		}
		if e.Column != 0 && (d.Line != e.Line || d.Column != e.Column) {
			continue
		}
		near := func(line int) bool { return d.Line >= line-1 && d.Line <= line+1 }
		if slices.ContainsFunc(append([]int{e.Line}, e.AlsoLines...), near) && mentions(plainText(t, text), e.About) {
			return true
		}
	}
	return false
}

// plainText is a diagnostic without the escapes of JSON, in lower case.
func plainText(t *testing.T, diagnostic []byte) string {
	var fields map[string]any
	if err := json.Unmarshal(diagnostic, &fields); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		t.Fatal(err)
	}
	return strings.ToLower(text.String())
}

// mentions reports whether a text has one of some words; short ones do not count.
func mentions(text, about string) bool {
	counted := 0
	for word := range strings.FieldsSeq(strings.ToLower(about)) {
		if len(word) <= 2 {
			continue
		}
		counted++
		if strings.Contains(text, word) {
			return true
		}
	}
	return counted == 0
}

// checkComplete wants each file of a folder to be expected at least once.
func checkComplete(t *testing.T, folder string, expectations []expectation) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		named := func(e expectation) bool { return e.File == entry.Name() }
		if entry.Name() != "expect.jsonl" && !slices.ContainsFunc(expectations, named) {
			t.Errorf("nothing is expected of %s", entry.Name())
		}
	}
}

// processEvery is how many tests share one run of the built command: a process for each would
// take most of the time of this package. Which test has a process follows from its name.
const processEvery = 20

// start runs a command of writ, in most tests in this process, and returns what it wrote and
// its exit status. With WRIT, which names the command under test, all tests run that.
func start(t *testing.T, in *bytes.Buffer, arguments ...string) (out, talk string, status int) {
	if in == nil {
		in = new(bytes.Buffer)
	}
	if crc32.ChecksumIEEE([]byte(t.Name()))%processEvery != 0 && os.Getenv("WRIT") == "" {
		return startHere(t, in, arguments)
	}
	var stdout, stderr bytes.Buffer
	command := exec.Command(writ(t), arguments...)
	command.Stdin, command.Stdout, command.Stderr = in, &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// startHere runs a command in this process.
func startHere(t *testing.T, in *bytes.Buffer, arguments []string) (out, talk string, status int) {
	var stdout, stderr bytes.Buffer
	streams := cli.Streams{In: in, Out: &stdout, Err: &stderr}
	root := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newCheck(streams), evaluate.NewEval(streams), evaluate.NewEffective(streams), changes.NewReach(streams), changes.NewShrink(streams, evaluate.DecisionTests))
	root.SetArgs(arguments)
	if err := root.ExecuteContext(t.Context()); err != nil {
		status = 2
		if found := new(cli.Finding); errors.As(err, &found) {
			status = 1
		}
		fmt.Fprintln(&stderr, err)
	}
	return stdout.String(), stderr.String(), status
}

// newCheck returns a command that does what writ check does.
func newCheck(s cli.Streams) *cobra.Command {
	var flags documents.Flags
	cmd := &cobra.Command{Use: "check"}
	cmd.RunE = func(cmd *cobra.Command, folders []string) error {
		read, err := flags.Read(cmd.Context(), s, folders, false)
		if err != nil {
			return err
		}
		if err := read.Compile(cmd.Context()); err != nil {
			return err
		}
		return read.WriteReport(s, cmd.Flag("output").Value.String())
	}
	flags.Add(cmd)
	cmd.Flags().StringP("output", "o", "", "")
	return cmd
}

// lines reads a file of JSON values, one a line.
func lines[T any](t *testing.T, path string) []T {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var values []T
	for number, line := range strings.Split(string(text), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var value T
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("%s:%d: %v", path, number+1, err)
		}
		values = append(values, value)
	}
	return values
}
