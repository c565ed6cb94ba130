package cel

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/ext"

	"github.com/writ-policy/writ/translator/diag"
)

// Problem is a mistake in an expression and its position. Line and Column count
// from 1, columns in runes.
type Problem struct {
	Message      string
	Line, Column int
	// Unknown is the unknown name, if that is the mistake, and Known are the names
	// that are valid there.
	Unknown string
	Known   []string
}

// Env is the environment of an expression: the variables it may read.
type Env struct {
	// Variables are the names an expression may begin with.
	Variables []string
	// Time is the path of a timestamp, which is a string in JSON. Nil means none.
	Time []string
	// Terms are the Rego references of variables that are not keys of input.
	Terms map[string]string
}

var (
	// Gateway has the variables of a request at the gateway point.
	Gateway = Env{Variables: []string{
		"auth", "connection", "context", "destination", "gateway", "metadata", "request", "route", "source",
	}, Time: []string{"request", "time"}}
	// Access has the variable request, the canonical request at the access point.
	Access = Env{Variables: []string{"request"}}

	merge = Env{Variables: []string{"self", "spec"}}
)

// CheckPredicate checks a condition on a gateway request. It returns nil if the
// condition is valid.
func CheckPredicate(text string) *Problem {
	_, problem := CompilePredicate(text, Gateway)
	return problem
}

// CheckExpression checks an expression of any type on a gateway request. It returns
// nil if the expression is valid.
func CheckExpression(text string) *Problem {
	_, problem := CompileExpression(text, Gateway)
	return problem
}

// CheckCounter checks the expression of a rate limit's counter. It returns nil if
// the expression is valid.
func CheckCounter(text string) *Problem { return CheckExpression(text) }

// CheckAccess checks a restriction on an access request. It returns nil if the
// restriction is valid.
func CheckAccess(text string) *Problem {
	_, problem := CompilePredicate(text, Access)
	return problem
}

// CheckMerge checks a merge condition. It returns nil if the condition is valid.
func CheckMerge(text string) *Problem {
	_, problem := CompileMerge(text)
	return problem
}

// maxNested bounds nested macros: each level doubles the time of OPA's compiler.
const maxNested = 5

// environments caches environments: building one costs more than checking an expression.
var environments sync.Map // the variables, joined, to *celgo.Env

func (e Env) environment() (*celgo.Env, error) {
	key := strings.Join(e.Variables, " ")
	if made, ok := environments.Load(key); ok {
		return made.(*celgo.Env), nil
	}
	options := []celgo.EnvOption{ext.Strings(), celgo.ASTValidators(
		celgo.ValidateRegexLiterals(), celgo.ValidateTimestampLiterals(), celgo.ValidateDurationLiterals(),
		celgo.ValidateComprehensionNestingLimit(maxNested),
	)}
	for _, name := range e.Variables {
		options = append(options, celgo.Variable(name, celgo.DynType))
	}
	made, err := celgo.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	environments.Store(key, made)
	return made, nil
}

// parse parses and checks the expression. A predicate must be of type bool, or dyn,
// whose value may be a bool.
func (e Env) parse(text string, predicate bool) (*celgo.Env, *celgo.Ast, *Problem) {
	environment, err := e.environment()
	if err != nil {
		return nil, nil, &Problem{Message: err.Error(), Line: 1, Column: 1}
	}
	checked, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, nil, e.problem(text, issues.Errors())
	}
	if out := checked.OutputType(); predicate && out != celgo.DynType && out != celgo.BoolType {
		line, column := firstNonSpace(text)
		return nil, nil, &Problem{Message: fmt.Sprintf("the expression is of type %s, not bool", celgo.FormatCELType(out)), Line: line, Column: column}
	}
	return environment, checked, nil
}

// problem converts the error that comes first in the text.
func (e Env) problem(text string, errors []*common.Error) *Problem {
	found := slices.MinFunc(errors, func(a, b *common.Error) int {
		if a.Location.Line() != b.Location.Line() {
			return a.Location.Line() - b.Location.Line()
		}
		return a.Location.Column() - b.Location.Column()
	})
	line, column := max(found.Location.Line(), 1), max(found.Location.Column()+1, 1)
	name, ok := quotedAfter(found.Message, "undeclared reference to '")
	if ok && characterAt(text, line, column) == '(' {
		// For a call, cel-go's position is that of the bracket.
		return &Problem{
			Message: fmt.Sprintf("unknown function %q", name), Line: line, Column: max(column-len([]rune(name)), 1),
			Unknown: name, Known: functionNames(),
		}
	} else if ok {
		return &Problem{
			Message: fmt.Sprintf("unknown variable %q; the variables are %s", name, strings.Join(e.Variables, ", ")), Line: line, Column: column,
			Unknown: name, Known: e.Variables,
		}
	}
	return &Problem{Message: simplify(found.Message), Line: line, Column: column}
}

// characterAt returns the character at a position, or 0 outside of the text.
func characterAt(text string, line, column int) rune {
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return 0
	}
	if runes := []rune(lines[line-1]); column <= len(runes) {
		return runes[column-1]
	}
	return 0
}

// quotedAfter returns the text up to the next quote after a prefix.
func quotedAfter(text, beginning string) (quoted string, ok bool) {
	rest, ok := strings.CutPrefix(text, beginning)
	quoted, _, _ = strings.Cut(rest, "'")
	return quoted, ok
}

// simplify rewrites a message of cel-go for authors of documents.
func simplify(text string) string {
	if rest, ok := strings.CutPrefix(text, "invalid "); ok && strings.HasSuffix(rest, " argument") {
		return fmt.Sprintf("%s cannot parse this string", strings.TrimSuffix(rest, " argument"))
	}
	if strings.Contains(text, "'<EOF>'") {
		return "the expression ends before it is complete"
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "Syntax error: "), "\n")
	for _, beginning := range []string{"no viable alternative at input '", "extraneous input '", "mismatched input '", "token recognition error at: '"} {
		if unexpected, ok := quotedAfter(text, beginning); ok && unexpected != "" {
			return fmt.Sprintf("%q is not expected here", strings.TrimSpace(unexpected))
		}
	}
	if name, ok := quotedAfter(text, "found no matching overload for '"); ok {
		_, types, _ := strings.Cut(text, "' applied to '")
		return fmt.Sprintf("%s does not take %s", sourceName(name), strings.TrimSuffix(types, "'"))
	}
	text, _, _ = strings.Cut(text, " expecting ")
	return text
}

// problemAt returns a problem at the position of the subexpression with this ID.
func problemAt(checked *celgo.Ast, id int64, format string, args ...any) *Problem {
	start := checked.NativeRep().SourceInfo().GetStartLocation(id)
	return &Problem{Message: fmt.Sprintf(format, args...), Line: max(start.Line(), 1), Column: max(start.Column()+1, 1)}
}

// firstNonSpace returns the position of the first character that is not a space.
func firstNonSpace(text string) (line, column int) {
	line, column = 1, 1
	for _, r := range text {
		switch r {
		case '\n':
			line, column = line+1, 1
		case ' ', '\t', '\r':
			column++
		default:
			return line, column
		}
	}
	return line, column
}

// Hint is the name that was probably meant, where one is not known.
func Hint(problem *Problem) string {
	return diag.Meant(problem.Unknown, problem.Known, "")
}
