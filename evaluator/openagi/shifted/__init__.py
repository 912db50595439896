"""The suite `openagi-shifted`: OpenAGI's requests on inputs unlike those that the experts were trained on."""
