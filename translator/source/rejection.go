package source

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/writ-policy/writ/translator/diag"
)

// Rejection is the reason why a file or folder of a source is not read: a mistake in the
// source, not a failure to read it. Its text names no file; At adds one.
type Rejection struct {
	code          diag.Code
	message, hint string
}

// Error implements error, so that code that follows a link can return a Rejection.
func (r *Rejection) Error() string { return r.message }

// At returns the diagnostic for the file with the given path, which is relative to the
// policy directory. Unprintable characters of the path are escaped, because diagnostics
// reach terminals and logs.
func (r *Rejection) At(file string) diag.Diagnostic {
	return diag.Diagnostic{
		Position: diag.Position{File: printable(file), Line: 1, Column: 1},
		Code:     r.code, Message: r.message, Hint: r.hint,
	}
}

// Rejections of links and of what is not a regular file.
var (
	FolderLoop      = &Rejection{codeLinkLoop, "the link leads back to a folder above it", "remove the link"}
	LinkLoop        = &Rejection{codeLinkLoop, "the link leads to itself", "remove the link"}
	BrokenLink      = &Rejection{codeBrokenLink, "the target of the link does not exist", "remove the link or create its target"}
	OutsideCheckout = &Rejection{codeOutsideCheckout, "the link leads out of the git checkout", "copy its target into the repository"}
	NotRegular      = &Rejection{codeNotRegular, "not a regular file", "remove it or rename it: names of documents end in .yaml, .yml, .json or .rego"}
	Submodule       = &Rejection{codeNotRegular, "submodules are not fetched", "copy its files into the repository"}
)

// UnprintableName rejects a file whose name is not printable UTF-8.
func UnprintableName(file string) *Rejection {
	return &Rejection{codeFileName, fmt.Sprintf("the name %s must be printable UTF-8", strconv.QuoteToASCII(path.Base(file))), "rename it"}
}

// Misnamed warns of a file that IsMisnamed: it is not read, and may hold a denial.
func Misnamed(file string) diag.Diagnostic {
	ending := path.Ext(file)
	lower := strings.TrimSuffix(path.Base(file), ending) + strings.ToLower(ending)
	return diag.Diagnostic{
		Position: diag.Position{File: printable(file), Line: 1, Column: 1},
		Severity: diag.Warning,
		Code:     codeFileName,
		Message:  fmt.Sprintf("the file is not read, because its name ends in %s: names of documents end in .yaml, .yml, .json or .rego", ending),
		Hint:     fmt.Sprintf("rename it to %s, or list it in %s", printable(lower), IgnoreFile),
	}
}

// DuplicateName rejects a file whose name differs from other only in case.
func DuplicateName(other string) *Rejection {
	return &Rejection{codeFileName, fmt.Sprintf("the name differs from %s only in case", strconv.QuoteToASCII(other)),
		"rename one of them: a case-insensitive file system can store only one"}
}

const narrowDirectory = "point writ at the folder that holds the policies"

// TooManyEntries rejects the first file or folder beyond limit.
func TooManyEntries(limit int) *Rejection {
	return &Rejection{diag.TooLarge, fmt.Sprintf("the directory has more than %d files and folders", limit), narrowDirectory}
}

// FileTooLarge rejects a file of size bytes.
func FileTooLarge(size, limit int64) *Rejection {
	return &Rejection{diag.TooLarge, fmt.Sprintf("the file has %d bytes, more than the limit of %d", size, limit), "split it into several files"}
}

// TotalTooLarge rejects the file with which all files together exceed limit bytes.
func TotalTooLarge(limit int64) *Rejection {
	return &Rejection{diag.TooLarge, fmt.Sprintf("with this file the directory has more than the limit of %d bytes", limit), narrowDirectory}
}

// notFound rejects a file that does not exist.
var notFound = &Rejection{codeUnreadable, "the file does not exist", "correct its name"}

// unreadable rejects a file for the reason that the system gives.
func unreadable(err error) *Rejection {
	return &Rejection{codeUnreadable, fmt.Sprintf("the file cannot be read: %v", TrimPath(err)), "change its permissions"}
}

// Codes of rejections.
const (
	codeUnreadable      diag.Code = "unreadable"
	codeBrokenLink      diag.Code = "broken-link"
	codeLinkLoop        diag.Code = "link-loop"
	codeOutsideCheckout diag.Code = "outside-checkout"
	codeNotRegular      diag.Code = "not-regular"
	codeFileName        diag.Code = "file-name"
)
