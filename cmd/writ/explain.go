package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
)

func newExplain(s cli.Streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "explain [CODE] [-o text|json]",
		Short: "Explain a diagnostic code, with an example",
		Long: `explain describes a code that check or lint reports, with an example and its
correction. Without a code it lists all codes.`,
		Example:           "  writ explain dangling-role\n  writ explain",
		ValidArgsFunction: completeCodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return explainAll(s.Out, format)
			case 1:
				return explain(s.Out, format, args[0])
			}
			return cli.Usagef(cmd, "name one code, or none to list them")
		},
	}
	cli.FormatFlag(cmd, &format, "text", "json")
	return cmd
}

// explanation is the stable form of diag.Explanation.
type explanation struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Summary  string `json:"summary"`
	Text     string `json:"text"`
	Example  string `json:"example"`
	Instead  string `json:"instead"`
}

func explanationOf(e diag.Explanation) explanation {
	return explanation{string(e.Code), e.Severity.String(), e.Summary, e.Text, e.Example, e.Instead}
}

func explain(w io.Writer, format, code string) error {
	e, ok := diag.Explain(diag.Code(code))
	if !ok {
		return cli.Unknown("code", code, codes(), "writ explain lists the codes")
	}
	if format == "json" {
		return diag.WriteIndented(w, explanationOf(e))
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s (%s)\n%s\n", e.Code, e.Severity, e.Summary)
	writePart(out, "", "", e.Text)
	writePart(out, "For example:\n\n", "    ", e.Example)
	writePart(out, "Instead:\n\n", "    ", e.Instead)
	return cli.Print(w, out.String())
}

// writePart writes a paragraph with its title, or nothing if the text is empty.
func writePart(out *strings.Builder, title, indent, text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	out.WriteString("\n" + title)
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

func explainAll(w io.Writer, format string) error {
	all := diag.Explanations()
	if format == "json" {
		list := elements.Map(all, explanationOf)
		return diag.WriteIndented(w, map[string]any{"codes": list})
	}
	out := &strings.Builder{}
	for _, e := range all {
		fmt.Fprintf(out, "%-20s %-8s %s\n", e.Code, e.Severity, e.Summary)
	}
	return cli.Print(w, out.String())
}

func codes() []string {
	return elements.Map(diag.Explanations(), func(e diag.Explanation) string { return string(e.Code) })
}

func completeCodes(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return codes(), cobra.ShellCompDirectiveNoFileComp
}
