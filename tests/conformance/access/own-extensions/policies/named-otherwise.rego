package writ.extensions.office

# true, false and undefined are decided; a number is no answer.
holds(request, params) := request.attributes.answer if params.read
