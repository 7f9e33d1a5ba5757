# Lets the program ${belfry} write its manual pages and completion scripts into ${made}.
file(MAKE_DIRECTORY ${made})
execute_process(COMMAND ${belfry} help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+ " commands "${help}")
execute_process(COMMAND ${belfry} man OUTPUT_FILE ${made}/belfry.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(command ${commands})
	string(STRIP "${command}" command)
	execute_process(COMMAND ${belfry} man ${command} OUTPUT_FILE ${made}/belfry-${command}.1 COMMAND_ERROR_IS_FATAL ANY)
endforeach()
foreach(shell bash zsh fish)
	execute_process(COMMAND ${belfry} completion ${shell} OUTPUT_FILE ${made}/completion.${shell}
		COMMAND_ERROR_IS_FATAL ANY)
endforeach()
