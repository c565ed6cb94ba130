package lint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-policy/writ/analysis/statement"
	"github.com/writ-policy/writ/internal/elements"
	"github.com/writ-policy/writ/translator/diag"
	"github.com/writ-policy/writ/translator/lint/risk"
)

// Risk is a dangerous grant with its warning, which is at the line of the binding.
type Risk struct {
	risk.Finding
	Diagnostic diag.Diagnostic
}

// RisksOf returns the dangerous grants of a revision, the most severe first. The error is
// that of a context that ends.
func RisksOf(ctx context.Context, w *statement.World) ([]Risk, error) {
	findings, err := risk.Of(ctx, w)
	if err != nil {
		return nil, err
	}
	out := make([]Risk, len(findings))
	for i := range findings {
		out[i] = Risk{findings[i], riskDiagnostic(&findings[i])}
	}
	return out, nil
}

// escalations are the codes of risks that say of a bound role what EscalationGrant says.
var escalations = []diag.Code{diag.RiskAllPowers, diag.RiskImpersonate, diag.RiskBindEscalate, diag.RiskWriteRoles}

// WithoutRepeated removes the warnings about rules that grant an escalation if a binding of
// the role has it as a risk: that has the subjects as well.
func WithoutRepeated(list diag.List, risks []Risk) diag.List {
	reported := make(map[string]bool)
	for i := range risks {
		if slices.Contains(escalations, risks[i].Code) {
			for _, source := range risks[i].Sources {
				reported[source] = true
			}
		}
	}
	return slices.DeleteFunc(list, func(d diag.Diagnostic) bool {
		return d.Code == diag.EscalationGrant && reported[d.Position.Source()]
	})
}

func riskDiagnostic(f *risk.Finding) diag.Diagnostic {
	at, _ := diag.ParseSource(f.Binding.Source)
	subjects := elements.Map(f.Subjects, risk.Subject)
	d := diag.Diagnostic{
		Position: at, Severity: diag.Warning, Code: f.Code, Risk: f.Severity, Subjects: f.Subjects,
		Message: fmt.Sprintf("%s, %s: %s can %s, by %s", f.Severity, f.Reach(), strings.Join(statement.Shorten(subjects), ", "), f.What(), f.Binding),
	}
	if text, known := diag.Explain(f.Code); known {
		_, d.Hint, _ = strings.Cut(strings.TrimSuffix(text.Text, "."), "\nRemedy: ")
	}
	if role, ok := diag.ParseSource(f.Role.Source); ok {
		d.Related = []diag.Related{{Position: role, Message: fmt.Sprintf("rule %d of %s allows it", f.Rule, f.Role)}}
	}
	return d
}
