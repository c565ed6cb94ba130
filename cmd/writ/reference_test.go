package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/server/metrics"
	"github.com/writ-policy/writ/translator"
	"github.com/writ-policy/writ/translator/diag"
)

// docs/reference.md lists what the program defines. `make gen` rewrites its tables.
func TestReference(t *testing.T) {
	if *update && os.Getenv("CI") != "" {
		t.Fatal("-update is rejected in CI")
	}
	const path = "../../docs/reference.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, table := range []struct {
		name string
		want string
	}{
		{"kinds", kindsTable()}, {"codes", codesTable()}, {"commands", commandsTable()}, {"metrics", metrics.Table()},
	} {
		begin, end := "<!-- "+table.name+": begin -->\n", "<!-- "+table.name+": end -->"
		before, rest, ok := strings.Cut(text, begin)
		got, after, found := strings.Cut(rest, end)
		if !ok || !found {
			t.Fatalf("%s has no markers for %s", path, table.name)
		}
		if got != table.want && !*update {
			t.Errorf("%s: the table %s is out of date; run make gen", path, table.name)
		}
		text = before + begin + table.want + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// docs/fields.md lists the fields of documents. `make gen` rewrites it.
func TestFieldReference(t *testing.T) {
	const path = "../../docs/fields.md"
	const head = `# Fields

Each field of each kind that writ reads. The list is generated from the decoders;
` + "`writ schema KIND -o text`" + ` prints a part of it, and editors show it
([editors](editors.md)). What a field requires beyond its type is reported by ` + "`writ check`" + `.
A field that is "not read" is accepted, and decisions do not depend on it.
`
	out := bytes.NewBufferString(head)
	if status := run(t.Context(), []string{"schema", "-o", "markdown"}, cli.Streams{Out: out, Err: os.Stderr}); status != 0 {
		t.Fatalf("writ schema: exit %d", status)
	}
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != out.String() {
		t.Errorf("%s is out of date; run make gen", path)
	}
}

func kindsTable() string {
	var versions []string
	names := make(map[string][]string)
	for _, kind := range translator.Kinds() {
		version, name := "`"+kind.APIVersion+"`", kind.Name
		if kind.SkippedIn != "" {
			version, name = "`"+kind.SkippedIn+"` (skipped)", kind.Name
		}
		if kind.Suffix != "" {
			version, name = "`*"+kind.Suffix+"`", "extension"
		}
		if names[version] == nil {
			versions = append(versions, version)
		}
		names[version] = append(names[version], name)
	}
	out := &strings.Builder{}
	out.WriteString("| apiVersion or file | kinds |\n| --- | --- |\n")
	for _, version := range versions {
		fmt.Fprintf(out, "| %s | %s |\n", version, strings.Join(names[version], ", "))
	}
	return out.String()
}

func codesTable() string {
	out := &strings.Builder{}
	out.WriteString("| code | severity | meaning |\n| --- | --- | --- |\n")
	for _, e := range diag.Explanations() {
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", e.Code, e.Severity, cell(e.Summary))
	}
	return out.String()
}

func commandsTable() string {
	root := newRoot(cli.Streams{})
	root.InitDefaultHelpFlag()
	out := &strings.Builder{}
	for _, command := range root.Commands() {
		if !command.IsAvailableCommand() || command.Name() == "help" {
			continue
		}
		fmt.Fprintf(out, "### writ %s\n\n%s.\n\n", command.Name(), command.Short)
		writeFlags(out, command)
		for _, below := range command.Commands() {
			fmt.Fprintf(out, "### %s\n\n%s.\n\n", below.CommandPath(), below.Short)
			writeFlags(out, below)
		}
	}
	return out.String()
}

func writeFlags(out *strings.Builder, command *cobra.Command) {
	if !command.Flags().HasAvailableFlags() {
		return
	}
	out.WriteString("| flag | default | meaning |\n| --- | --- | --- |\n")
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "config" || f.Hidden {
			return
		}
		argument, usage := pflag.UnquoteUsage(f)
		if argument != "" {
			argument = " " + strings.ToUpper(argument)
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(out, "| `--%s%s` | %s | %s |\n", f.Name, argument, value, cell(usage))
	})
	out.WriteString("\n")
}

// cell escapes text for a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
