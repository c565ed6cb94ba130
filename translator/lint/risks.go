package lint

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-policy/writ/translator/change/statement"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
)

// Risks returns a warning for each dangerous grant, at the line of its binding.
func Risks(w *statement.World) diag.List {
	findings, err := risk.Of(context.Background(), w)
	if err != nil {
		panic(err) // the context does not end
	}
	var list diag.List
	for i := range findings {
		list.Add(riskDiagnostic(&findings[i]))
	}
	return list
}

func riskDiagnostic(f *risk.Finding) diag.Diagnostic {
	at, _ := diag.ParseSource(f.Binding.Source)
	subjects := make([]string, 0, len(f.Subjects))
	for _, p := range f.Subjects {
		subjects = append(subjects, risk.Subject(p))
	}
	d := diag.Diagnostic{
		Position: at, Severity: diag.Warning, Code: f.Code, Risk: f.Severity, Subjects: f.Subjects,
		Message: fmt.Sprintf("%s, %s: %s can %s, by %s", f.Severity, whereText(f), strings.Join(statement.Shorten(subjects), ", "), f.Can, f.Binding),
	}
	if text, known := diag.Explain(f.Code); known {
		_, d.Hint, _ = strings.Cut(strings.TrimSuffix(text.Text, "."), "\nRemedy: ")
	}
	if role, ok := diag.ParseSource(f.Role.Source); ok {
		d.Related = []diag.Related{{Position: role, Message: fmt.Sprintf("rule %d of %s allows it", f.Rule, f.Role)}}
	}
	return d
}

// whereText returns how far a finding reaches.
func whereText(f *risk.Finding) string {
	switch {
	case f.IsNamed && f.Where == "":
		return "for some names"
	case f.IsNamed:
		return fmt.Sprintf("for some names in namespace %q", f.Where)
	case f.Where == "":
		return "in some namespaces"
	case f.Where == "everywhere":
		return f.Where
	}
	return fmt.Sprintf("in namespace %q", f.Where)
}
